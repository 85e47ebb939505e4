import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { buildSettingsPage } from '../../dev/reference/settings.ts';
import { settingsIn, textsOf } from '../config/in-use.ts';

const read = (file: string): string => readFileSync(file, 'utf8');
const page = read('docs/reference/settings.md');
const row = (name: string): string | undefined =>
  page.split('\n').find((line) => line.startsWith(`| \`${name}\``));

describe('the page of settings', () => {
  test('has a line for each setting of the platform; those of agents and builds have pages of their own', () => {
    const others = ['agent-server', 'builder', 'configuration-names'].map((name) =>
      read(`docs/reference/${name}.md`),
    );
    others.push(read('docs/how-to/backups.md'));
    const missing = [...settingsIn(textsOf(['src/config/**/*.ts'])).keys()].filter(
      (name) => ![page, ...others].some((text) => text.includes(name)),
    );
    expect(missing).toEqual([]);
    expect(page.split('\n').filter((line) => line.startsWith('| `')).length).toBeGreaterThan(100);
  });

  test('says what a setting means, its default, and the value of the chart', () => {
    expect(row('GX_WORKERS')).toBe(
      '| `GX_WORKERS` | `operator.workers` | `10` | Number of reconciles at a time. |',
    );
    expect(row('GX_LEASE_NAME')).toContain('The Lease for leader election');
  });

  test("can't be written while a setting has no words", () => {
    const planted = (file: string): string =>
      `${read(file)}${file.endsWith('/gateway.ts') ? "read.integer(['GX_PLANTED'], 1, range);" : ''}`;
    expect(() => buildSettingsPage(planted)).toThrow(
      'The setting GX_PLANTED of gateway has no words: add its line to dev/reference/setting-meanings.ts.',
    );
  });
});
