import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  isRead,
  isSet,
  isValueSet,
  readers,
  settingsIn,
  textsOf,
  valuesIn,
  valuesOf,
  type Texts,
} from './in-use.ts';

/*
 * Each setting has a user: a test that sets it, or a guide that tells an administrator when to. A table of the
 * reference or a default is none.
 */

const sources = textsOf(['src/config/**/*.ts']);
const templates = textsOf(['charts/gx-platform/templates/**/*.{yaml,tpl,txt}']);
const values = valuesIn(readFileSync('charts/gx-platform/values.yaml', 'utf8'));
const used = readers();

function unset(texts: Texts): string[] {
  const settings = [...settingsIn(texts)];
  const isUsed = (name: string, ways: Set<string>): boolean =>
    [...ways].some((way) => isSet(way, used)) ||
    valuesOf(name, values, templates).some((path) => isValueSet(path, values, used));
  return settings.filter(([name, ways]) => !isUsed(name, ways)).map(([name]) => name);
}

describe('settings of the processes', () => {
  test('are each set by a test or a guide, by themselves or through the chart', () => {
    expect(settingsIn(sources).size).toBeGreaterThan(100);
    expect(unset(sources)).toEqual([]);
  });

  test('that nobody sets are found, unless another name of theirs is set', () => {
    const planted =
      "read.flag(['GX_PLANTED_ALONE'], false); read.integer(['GX_PLANTED_TOO', 'BG_JOB_TIMEOUT_SECS'], 1, range);";
    expect(unset(new Map([...sources, ['src/config/planted.ts', planted]]))).toEqual([
      'GX_PLANTED_ALONE',
    ]);
  });
});

describe('values of the chart', () => {
  test('are each read by a template, and set by a test of the chart or a guide', () => {
    expect(values.filter((path) => !isRead(path, templates)).map((path) => path.join('.'))).toEqual(
      [],
    );
    expect(
      values.filter((path) => !isValueSet(path, values, used)).map((path) => path.join('.')),
    ).toEqual([]);
  });

  test('that nothing reads or sets are found', () => {
    const path = ['settings', 'plantedSeconds'];
    expect([isRead(path, templates), isValueSet(path, [...values, path], used)]).toEqual([
      false,
      false,
    ]);
  });
});
