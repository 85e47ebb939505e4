import { describe, expect, test } from 'vitest';
import { findKeyCommand } from '../../../src/console/page/shell/key-commands.ts';
import { parsePagePath, buildPagePath } from '../../../src/console/page/shell/routes.ts';
import { formatAllTimes, formatTime } from '../../../src/console/page/shell/time-text.ts';

describe('the paths of the page', () => {
  test.each([
    ['', 'deployments', {}, undefined],
    ['d/a%2Fb', 'deployment', { id: 'a/b' }, undefined],
    ['t/one/d/x/compare/1/2', 'compare', { id: 'x', from: '1', to: '2' }, 'one'],
    ['t/one/', 'deployments', {}, 'one'],
    ['d/x/revisions/r/build', 'buildLog', { id: 'x', revision: 'r' }, undefined],
    ['d/%E0%A4%A', 'deployment', { id: '%E0%A4%A' }, undefined],
  ] as const)('%s is %s', (path, name, parameters, tenant) => {
    expect(parsePagePath(path)).toEqual({ tenant, place: { name, parameters } });
  });

  test('a path that no place has is none', () => {
    expect(parsePagePath('d/x/elsewhere').place).toBeUndefined();
    expect(parsePagePath('index').place).toBeUndefined();
  });

  test('a path leads back to its place, in its tenant', () => {
    const path = buildPagePath('compare', { id: 'a/b', from: '1', to: '2' }, 'one');
    expect(parsePagePath(path)).toEqual({
      tenant: 'one',
      place: { name: 'compare', parameters: { id: 'a/b', from: '1', to: '2' } },
    });
    expect(buildPagePath('deployments', {})).toBe('./');
  });
});

describe('a time', () => {
  const at = Date.parse('2026-03-29T00:30:00Z');
  test.each([
    [{ mode: 'relative', now: at + 3_599_000 }, '59 minutes ago'],
    [{ mode: 'relative', now: at - 7_200_000, isToCome: true }, 'in 2 hours'],
    [{ mode: 'relative', now: at - 7000 }, 'now'],
    [{ mode: 'relative', now: at, isDate: true, zone: 'UTC' }, '29 Mar 2026, 00:30:00 UTC'],
    [{ mode: 'relative', now: at + 200 }, 'now'],
    [{ mode: 'utc', now: at, zone: 'Asia/Tokyo' }, '29 Mar 2026, 00:30:00 UTC'],
    [{ mode: 'local', now: at, zone: 'Asia/Tokyo' }, '29 Mar 2026, 09:30:00 GMT+9'],
  ] as const)('is shown by %j as %s', (how, text) => {
    expect(formatTime(at, how)).toBe(text);
  });

  test('has all forms in its title, and none that is wrong', () => {
    expect(formatAllTimes(at, 'Asia/Tokyo')).toBe(
      '29 Mar 2026, 09:30:00 GMT+9 · 29 Mar 2026, 00:30:00 UTC',
    );
    expect(formatTime(NaN, { mode: 'utc', now: at })).toBe('unknown');
  });
});

describe('a key', () => {
  const press = { before: undefined, isTyping: false, hasModifier: false, singleKeys: true };
  test.each([
    [{ ...press, key: '/' }, 'filter'],
    [{ ...press, key: 'd', before: 'g' }, 'deployments'],
    [{ ...press, key: 'd' }, undefined],
    [{ ...press, key: '/', isTyping: true }, undefined],
    [{ ...press, key: 'k', hasModifier: true }, undefined],
    [{ ...press, key: 'k', hasModifier: true, isControl: true, isTyping: true }, 'jump'],
    [{ ...press, key: 'j', singleKeys: false }, undefined],
    [{ ...press, key: 'ArrowDown', singleKeys: false }, 'next'],
  ])('%j is %s', (given, command) => {
    expect(findKeyCommand(given)).toBe(command);
  });
});
