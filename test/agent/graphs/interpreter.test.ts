import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  installCommand,
  chooseInterpreter,
  type Installer,
  type Interpreter,
} from '../../../src/agent/graphs/interpreter.ts';
import { checkInterpreter } from '../../../src/agent/graphs/python.ts';
import { readAgentConfig } from '../../../src/config/agent/agent.ts';

const ALL = [
  '/env/bin/python',
  '/a/.venv/bin/python',
  '/a/b/.venv/bin/python',
  '/bin/python3',
  '/usr/bin/python3',
  '/usr/bin/python3.12',
];
const ABOVE = ['/a/uv.lock', '/a/.venv/bin/python', '/a/venvs/one/bin/python', '/bin/python3'];
const PATHS = { DATABASE_URI: 'postgresql://x', PATH: '/bin:/usr/bin' };
/** What is written in the files of projects; `/a/b` is a member of the workspace of `/a`, and `/a/c` is none. */
const FILES: Record<string, string> = {
  '/a/uv.lock': 'name = "b"\nsource = { editable = "b" }\n',
  '/a/b/uv.lock': '',
  '/a/b/pyproject.toml': '[project]\nname = "b"\n',
  '/a/c/pyproject.toml': '[project]\nname = "c"\n',
};
const chosen = (env: Record<string, string>, there: string[], folder = '/a/b'): Interpreter =>
  chooseInterpreter({
    settings: readAgentConfig({ ...PATHS, ...env }).python,
    folder,
    exists: (file) => there.includes(file),
    textOf: (file) => (there.includes(file) ? FILES[file] : undefined),
  });

test.each<[string, Record<string, string>, string[], string, string, Installer]>([
  [
    'a path of GX_PYTHON',
    { GX_PYTHON: '/usr/bin/python3.12', VIRTUAL_ENV: '/env' },
    ALL,
    '/usr/bin/python3.12',
    'GX_PYTHON names it',
    'pip',
  ],
  [
    'an environment of GX_PYTHON',
    { GX_PYTHON: '/env' },
    ALL,
    '/env/bin/python',
    'GX_PYTHON names it',
    'pip',
  ],
  [
    'an environment of GX_PYTHON by its name',
    { GX_PYTHON: 'my-env' },
    [path.resolve('my-env/bin/python')],
    path.resolve('my-env/bin/python'),
    'GX_PYTHON names it',
    'pip',
  ],
  [
    'a command of GX_PYTHON',
    { GX_PYTHON: 'python3.12', VIRTUAL_ENV: '/env' },
    ALL,
    '/usr/bin/python3.12',
    'GX_PYTHON names it',
    'pip',
  ],
  [
    '.venv beside gx.json',
    { VIRTUAL_ENV: '/env' },
    ALL,
    '/a/b/.venv/bin/python',
    'the .venv beside gx.json',
    'pip',
  ],
  [
    '.venv that uv has made there',
    {},
    [...ALL, '/a/b/.venv/pyvenv.cfg'],
    '/a/b/.venv/bin/python',
    'the .venv beside gx.json',
    'uv-pip',
  ],
  [
    '.venv of the project of uv',
    {},
    [...ALL, '/a/b/uv.lock'],
    '/a/b/.venv/bin/python',
    'the .venv beside gx.json',
    'uv-add',
  ],
  [
    'the active environment',
    { VIRTUAL_ENV: '/env' },
    ['/env/bin/python', ...ABOVE],
    '/env/bin/python',
    'the active environment (VIRTUAL_ENV)',
    'pip',
  ],
  [
    'the uv workspace above',
    { VIRTUAL_ENV: '/gone' },
    ABOVE,
    '/a/.venv/bin/python',
    'the environment of the uv project in /a',
    'uv-add',
  ],
  [
    'the environment that uv is told to use',
    { UV_PROJECT_ENVIRONMENT: 'venvs/one' },
    ABOVE,
    '/a/venvs/one/bin/python',
    'the environment of the uv project in /a',
    'uv-add',
  ],
  [
    '.venv above gx.json',
    {},
    ['/a/.venv/bin/python', '/bin/python3'],
    '/a/.venv/bin/python',
    'the .venv in /a',
    'pip',
  ],
  [
    'the one that gx is installed for',
    { GX_PYTHON_OF_GX: '/usr/bin/python3.12' },
    ALL.slice(3),
    '/usr/bin/python3.12',
    'gx is installed there',
    'pip',
  ],
  [
    'python3, the first one',
    {},
    ['/usr/bin/python3', '/bin/python3'],
    '/bin/python3',
    'the first python3 on the PATH',
    'pip',
  ],
  [
    'python3, until uv has made an environment',
    {},
    ['/a/uv.lock', '/bin/python3'],
    '/bin/python3',
    'the first python3 on the PATH',
    'uv-sync',
  ],
])('graphs in Python are run by %s', (_, env, there, program, because, installer) => {
  expect(chosen(env, there)).toEqual({ program, because, installer });
});

test.each([
  ['a member of its workspace', '/a/b', 'uv-sync'],
  ['a package of its own', '/a/c', 'pip'],
  ['a folder without a package', '/a/d', 'uv-sync'],
])('uv.lock above is asked for %s', (_, folder, installer) => {
  const there = ['/a/uv.lock', '/a/b/pyproject.toml', '/a/c/pyproject.toml', '/bin/python3'];
  expect(chosen({}, there, folder)).toMatchObject({ program: '/bin/python3', installer });
});

test.each([
  [
    {},
    [],
    'there is no python3: install it, then run python3 -m venv .venv && .venv/bin/pip install langgraph, or name it by GX_PYTHON',
  ],
  [{}, ['/a/uv.lock'], 'there is no python3: run uv sync in /a, or name it by GX_PYTHON'],
  [{ GX_PYTHON: '/gone/python' }, [], 'GX_PYTHON names /gone/python, which is not there'],
  [{ GX_PYTHON: 'python3.99' }, [], 'GX_PYTHON names python3.99, which is not there'],
])('where there is none (%j, %j), a sentence says what to run', (env, there, sentence) => {
  expect(chosen(env, there)).toEqual({ fault: expect.stringContaining(sentence) });
});

test.each<[Installer, string]>([
  ['pip', "/x/python -m pip install 'langgraph>=1.0'"],
  ['uv-pip', "uv pip install --python /x/python 'langgraph>=1.0'"],
  ['uv-add', "uv add 'langgraph>=1.0'"],
  ['uv-sync', 'uv sync'],
])('packages come by %s', (installer, command) => {
  expect(installCommand({ program: '/x/python', installer }, 'langgraph>=1.0')).toBe(command);
});

const folder = mkdtempSync(path.join(tmpdir(), 'gx-python-'));
afterAll(() => rmSync(folder, { recursive: true }));

function standIn(name: string, script: string): string {
  const program = path.join(folder, name);
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  return program;
}

const examined = (program: string): Promise<string | undefined> =>
  checkInterpreter({ program, because: 'this test says so', installer: 'pip' }, folder, '--python');

test.each([
  [
    'old',
    'exit 3',
    (shown: string) =>
      `Graphs in Python need Python 3.11 or newer, and ${shown} is older: name another one by --python`,
  ],
  // Without the packages of its installation, any Python lacks LangGraph.
  [
    'bare',
    'exec python3 -I -S "$@"',
    (shown: string, program: string) =>
      `Graphs in Python need LangGraph, which ${shown} does not have: run ${program} -m pip install langgraph`,
  ],
  [
    'behind',
    'echo 0.3.34; exit 5',
    (shown: string, program: string) =>
      `Graphs in Python need LangGraph 0.4 or newer, and ${shown} has 0.3.34: run ${program} -m pip install 'langgraph>=0.4'`,
  ],
  ['complete', 'exit 0', () => undefined],
])('an interpreter that is %s is examined', async (name, script, expected) => {
  const program = standIn(name, script);
  expect(await examined(program)).toBe(expected(`${program} (this test says so)`, program));
});

test('the LangGraph of an interpreter is told by its version', async () => {
  const modules = path.join(folder, 'modules');
  for (const at of ['langgraph/graph', 'langgraph-0.3.34.dist-info'])
    mkdirSync(path.join(modules, at), { recursive: true });
  for (const at of ['langgraph/__init__.py', 'langgraph/graph/__init__.py'])
    writeFileSync(path.join(modules, at), '');
  writeFileSync(
    path.join(modules, 'langgraph-0.3.34.dist-info/METADATA'),
    'Name: langgraph\nVersion: 0.3.34\n',
  );
  const program = standIn('modules.sh', `PYTHONPATH=${modules} exec python3 -S "$@"`);
  expect(await examined(program)).toContain('LangGraph 0.4 or newer, and ');
  expect(await examined(program)).toContain('has 0.3.34: run');
});

test('an interpreter that can not be executed is named', async () => {
  const program = path.join(folder, 'text');
  writeFileSync(program, 'no program');
  expect(await examined(program)).toBe(
    `Graphs in Python need an interpreter, and ${program} (this test says so) can't be run: name another one by --python`,
  );
});
