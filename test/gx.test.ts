import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'gx-new-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** `gx …`, as in a terminal in the folder. */
const gx = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync('node', [path.resolve('src/gx.ts'), ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};
const WRITTEN = [
  '.dockerignore',
  '.env.example',
  '.gitignore',
  'Dockerfile',
  'README.md',
  'graph.ts',
  'gx.json',
  'model.ts',
];

test('new writes a project into a folder that it makes, named after it', () => {
  expect(gx('new', 'Weather Bot')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('npm install\n  gx dev\n'),
    stderr: '',
  });
  const there = path.join(folder, 'Weather Bot');
  expect(readdirSync(there).toSorted()).toEqual([...WRITTEN, 'package.json', 'stand-in.ts']);
  expect(JSON.parse(readFileSync(path.join(there, 'package.json'), 'utf8'))).toMatchObject({
    name: 'weather-bot',
    type: 'module',
  });
  expect(readFileSync(path.join(there, '.gitignore'), 'utf8')).toContain('.env\n');
});

test('new in this folder keeps its package.json', () => {
  writeFileSync(path.join(folder, 'package.json'), '{}');
  expect(gx('new')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('Kept as they were: package.json'),
  });
  expect(readFileSync(path.join(folder, 'package.json'), 'utf8')).toBe('{}');
  expect(readdirSync(folder)).toContain('gx.json');
});

test('new overwrites nothing, and writes nothing then', () => {
  writeFileSync(path.join(folder, 'graph.ts'), 'mine');
  const { status, stderr } = gx('new');
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^new: .* has graph\.ts already.*\n$/),
  });
  expect(readdirSync(folder)).toEqual(['graph.ts']);
  expect(readFileSync(path.join(folder, 'graph.ts'), 'utf8')).toBe('mine');
});

test.each([
  ['no command', [], 0, /new \[folder\][\s\S]*dev/],
  ['--help', ['--help'], 0, /Usage: gx <command>/],
  ['help of new', ['new', '--help'], 0, /Usage: gx new/],
  ['help of dev', ['dev', '--help'], 0, /Usage: gx dev/],
  ['the version', ['--version'], 0, /^v\d+\.\d+\.\d+\n$/],
  ['an unknown command', ['serve'], 1, /^"serve" is not a command; known: new, dev\.\n$/],
  ['a word that every object has', ['toString'], 1, /^"toString" is not a command/],
  [
    'two folders',
    ['new', 'a', 'b'],
    1,
    /^new: It takes one folder, not 2\. See gx new --help\.\n$/,
  ],
  [
    'an unknown option',
    ['dev', '--prot', '1'],
    1,
    /^dev: Unknown option '--prot'\. Did you mean --port\? See gx dev --help\.\n$/,
  ],
  [
    'a file for a folder',
    ['new', path.resolve('package.json')],
    1,
    /^new: .*package\.json is a file, not a folder\.\n$/,
  ],
  [
    'no gx.json',
    ['dev'],
    1,
    /^There is no gx\.json or langgraph\.json in \S+\. Run "gx new" to write an agent, .*\n$/,
  ],
])('%s', (_, args, code, said) => {
  const { status, stdout, stderr } = gx(...args);
  expect(status).toBe(code);
  expect(code === 0 ? stdout : stderr).toMatch(said);
  expect(code === 0 ? stderr : stdout).toBe('');
});
