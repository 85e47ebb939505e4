import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { reasonFor, strays } from './left-out.ts';
import { TWINS } from './twins/table.ts';
import { WITHOUT_TWINS } from './twins/without.ts';

describe('the table of tests that run over Python twins', () => {
  test('names files that are there, and gives a sentence for each test that it leaves out', () => {
    expect(Object.keys(TWINS).filter((file) => !existsSync(file))).toEqual([]);
    for (const reason of Object.values(TWINS).flatMap((leftOut) => Object.values(leftOut)))
      expect(reason).toMatch(/^[A-Z].* .*\.$/);
  });

  test('and the table of those over JavaScript alone have each test file that starts a server or uses a database', () => {
    const isReal = (file: string): boolean =>
      /kit\/(agent-server|agent-pair|postgres|traced-gateway|compared-agent|users-project)\.ts'/.test(
        readFileSync(file, 'utf8'),
      );
    const others = globSync('test/agent/**/*.test.ts').filter(
      (file) => isReal(file) && TWINS[file] === undefined,
    );
    expect(Object.keys(WITHOUT_TWINS).toSorted()).toEqual(others.toSorted());
    for (const reason of Object.values(WITHOUT_TWINS)) expect(reason).toMatch(/^[A-Z`].* .*\.$/);
  });

  test('leaves out a test by its name, or all of a group', () => {
    const leftOut = { group: 'Reason one.', 'other > test': 'Reason two.' };
    const names = [
      'group',
      'group > test',
      'grouped > test',
      'other > test',
      'other > test more',
      'other',
    ];
    expect(names.map((name) => reasonFor(leftOut, name))).toEqual([
      'Reason one.',
      'Reason one.',
      undefined,
      'Reason two.',
      undefined,
      undefined,
    ]);
  });

  test('may not leave out a test that is not there', () => {
    expect(
      strays({ group: '', 'group > test': '', 'group > gone': '', gone: '' }, ['group > test']),
    ).toEqual(['group > gone', 'gone']);
  });
});
