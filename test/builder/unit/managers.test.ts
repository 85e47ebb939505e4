import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  DEFAULT_TOOLS,
  buildInstallCommands,
  choosePackageManager,
} from '../../../src/builder/packages/managers.ts';

const chosen = (files: Record<string, string>, packageManager?: string) =>
  choosePackageManager({
    files: Object.keys(files),
    lockText: (file) => files[file]!,
    ...(packageManager && { packageManager }),
  });

const BERRY = '__metadata:\n  version: 8\n';
const CLASSIC = '# yarn lockfile v1\n';

describe('the package manager is that of the lock file', () => {
  test.each([
    [{ 'package-lock.json': '{}' }, 'npm', undefined, ['npm', 'ci']],
    [{ 'npm-shrinkwrap.json': '{}' }, 'npm', undefined, ['npm', 'ci']],
    [
      { 'pnpm-lock.yaml': "lockfileVersion: '9.0'" },
      'pnpm',
      DEFAULT_TOOLS.pnpm,
      ['pnpm', 'install', '--frozen-lockfile'],
    ],
    [
      { 'pnpm-lock.yaml': "lockfileVersion: '6.0'" },
      'pnpm',
      'pnpm@8.15.9',
      ['pnpm', 'install', '--frozen-lockfile'],
    ],
    [
      { 'pnpm-lock.yaml': 'lockfileVersion: 5.4' },
      'pnpm',
      'pnpm@7.33.7',
      ['pnpm', 'install', '--frozen-lockfile'],
    ],
    [
      { 'yarn.lock': CLASSIC },
      'yarn',
      DEFAULT_TOOLS.yarn,
      ['yarn', 'install', '--non-interactive', '--frozen-lockfile'],
    ],
    [{ 'yarn.lock': BERRY }, 'berry', DEFAULT_TOOLS.berry, ['yarn', 'install', '--immutable']],
    [{ 'bun.lock': '{}' }, 'bun', DEFAULT_TOOLS.bun, ['bun', 'install', '--frozen-lockfile']],
    [{ 'bun.lockb': '' }, 'bun', DEFAULT_TOOLS.bun, ['bun', 'install', '--frozen-lockfile']],
  ])('%j', (files, name, tool, command) => {
    const manager = chosen(files);
    expect(manager).toMatchObject({ name, lockFile: Object.keys(files)[0] });
    expect(manager.tool).toBe(tool);
    expect(buildInstallCommands(manager).all).toEqual(command);
  });

  test.each([
    [{ 'pnpm-lock.yaml': "lockfileVersion: '9.0'" }, 'pnpm@9.15.9+sha512.abc', 'pnpm@9.15.9'],
    [{ 'yarn.lock': BERRY }, 'yarn@3.8.7', '@yarnpkg/cli-dist@3.8.7'],
    [{ 'yarn.lock': CLASSIC }, 'yarn@1.22.19', 'yarn@1.22.19'],
    [{ 'bun.lock': '' }, 'bun@1.2.0', 'bun@1.2.0'],
    // Of another manager than the lock file's, it says nothing about the version.
    [{ 'pnpm-lock.yaml': "lockfileVersion: '9.0'" }, 'yarn@4.1.0', DEFAULT_TOOLS.pnpm],
  ])('%j, in the version that packageManager %s names', (files, packageManager, tool) => {
    expect(chosen(files, packageManager).tool).toBe(tool);
  });

  test('of several it is the one that packageManager names', () => {
    const files = { 'package-lock.json': '{}', 'pnpm-lock.yaml': "lockfileVersion: '9.0'" };
    expect([chosen(files).name, chosen(files, 'pnpm@9.15.9').name]).toEqual(['npm', 'pnpm']);
  });

  test('without one it is that of packageManager, or npm, and nothing is frozen', () => {
    expect(buildInstallCommands(chosen({})).all).toEqual(['npm', 'install']);
    expect(buildInstallCommands(chosen({}, 'pnpm@9.15.9')).all).toEqual([
      'pnpm',
      'install',
      '--no-frozen-lockfile',
    ]);
  });
});

test('the image of the builder has the package managers of projects that name none', () => {
  const [, tools = ''] = /^ARG TOOLS="([^"]+)"$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  expect(tools.split(' ').toSorted()).toEqual(Object.values(DEFAULT_TOOLS).toSorted());
});

test.each(Object.values(DEFAULT_TOOLS))('a lock file says what %s is, to the byte', (tool) => {
  const at = tool.lastIndexOf('@');
  const [name, version] = [tool.slice(0, at), tool.slice(at + 1)];
  const { packages } = JSON.parse(
    readFileSync(`dev/images/tools/${name}/package-lock.json`, 'utf8'),
  ) as LockFile;
  const { '': own, ...installed } = packages;
  expect(own?.dependencies).toEqual({ [name]: version });
  expect(installed[`node_modules/${name}`]).toMatchObject({ version });
  expect(
    Object.values(installed).filter(({ integrity }) => integrity?.startsWith('sha512-') !== true),
  ).toEqual([]);
});

type LockFile = {
  packages: Record<
    string,
    { version?: string; integrity?: string; dependencies?: Record<string, string> }
  >;
};

test('the image of the builder installs nothing of npm without a lock file', () => {
  const instructions = readFileSync('Dockerfile', 'utf8').replaceAll(/^#.*$/gm, '');
  expect(instructions).toContain('npm ci');
  // A stage that installs some of the packages has the lock file of all, and takes its versions.
  const loose = instructions
    .split(/^FROM /m)
    .filter(
      (stage) => /npm (install|i|add) /.test(stage) && !stage.includes(' package-lock.json '),
    );
  expect(loose).toEqual([]);
});
