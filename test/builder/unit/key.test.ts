import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { computePackagesKey } from '../../../src/builder/packages/plan.ts';
import { findProject } from '../../../src/builder/packages/project.ts';

let source: string;
beforeEach(() => {
  source = mkdtempSync(join(tmpdir(), 'gx-key-'));
  cpSync('test/builder/fixtures/pnpm-workspace', source, { recursive: true });
});

const key = (more: { installCommand?: string; baseDigest?: string } = {}): string | undefined =>
  computePackagesKey({
    source,
    projects: [findProject(source, 'apps/agent')!],
    baseDigest: 'sha256:one',
    ...more,
  });

const changed = (file: string, change: (text: string) => string): void =>
  writeFileSync(join(source, file), change(readFileSync(join(source, file), 'utf8')));

test('packages of a workspace are installed in its root, by the manager of its lock file', () => {
  expect(findProject(source, 'apps/agent')).toMatchObject({
    folder: '',
    manager: { name: 'pnpm' },
    hasPackages: true,
  });
});

describe('the key of packages', () => {
  test.each<[string, () => void]>([
    ['the source', () => changed('apps/agent/graph.js', (text) => `${text}\n`)],
    ['a local package', () => changed('packages/words/words.js', (text) => `${text}\n`)],
    ['gx.json', () => changed('apps/agent/gx.json', (text) => `${text}\n`)],
    [
      'scripts',
      () =>
        changed('package.json', (text) =>
          text.replace('"private"', '"scripts": { "x": "y" }, "private"'),
        ),
    ],
  ])('stays when %s changes', (_what, change) => {
    const before = key();
    change();
    expect(key()).toBe(before);
  });

  test.each<[string, () => void]>([
    ['the lock file', () => changed('pnpm-lock.yaml', (text) => `${text}\n`)],
    [
      'the package.json of a member',
      () =>
        changed('apps/agent/package.json', (text) =>
          text.replace('"private"', '"x": 1, "private"'),
        ),
    ],
    ['the list of members', () => changed('pnpm-workspace.yaml', (text) => `${text}  - more/*\n`)],
    [
      'a setting of the package manager',
      () => writeFileSync(join(source, '.npmrc'), 'node-linker=hoisted\n'),
    ],
    [
      'a folder that is copied into node_modules',
      () => {
        changed('apps/agent/package.json', (text) =>
          text.replace('workspace:*', 'file:../../packages/words'),
        );
        changed('packages/words/words.js', (text) => `${text}\n`);
      },
    ],
  ])('changes with %s', (_what, change) => {
    const before = key();
    change();
    expect(key()).not.toBe(before);
  });

  test('changes with the base image and with the command that installs', () => {
    const keys = [
      key(),
      key({ baseDigest: 'sha256:two' }),
      key({ installCommand: 'pnpm install --prod' }),
    ];
    expect(new Set(keys).size).toBe(3);
    expect(keys).not.toContain(undefined);
  });

  test('is none for a command that may write anything', () => {
    expect(key({ installCommand: 'pnpm install && node generate.js' })).toBeUndefined();
  });
});
