import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { interpreterFor } from '../../../src/agent/graphs/interpreter.ts';
import { interpreterFault } from '../../../src/agent/graphs/python.ts';
import { agentConfig } from '../../../src/config/agent.ts';

const ALL = ['/env/bin/python', '/a/.venv/bin/python', '/a/b/.venv/bin/python', '/bin/python3', '/usr/bin/python3', '/usr/bin/python3.12'];
const PATHS = { DATABASE_URI: 'postgresql://x', PATH: '/bin:/usr/bin' };
const chosen = (env: Record<string, string>, there: string[]): unknown =>
  interpreterFor({ settings: agentConfig({ ...PATHS, ...env }).python, folder: '/a/b', exists: (file) => there.includes(file) });

test.each([
  ['a path of GX_PYTHON', { GX_PYTHON: '/usr/bin/python3.12', VIRTUAL_ENV: '/env' }, ALL, '/usr/bin/python3.12'],
  ['a command of GX_PYTHON', { GX_PYTHON: 'python3.12', VIRTUAL_ENV: '/env' }, ALL, '/usr/bin/python3.12'],
  ['the active environment', { VIRTUAL_ENV: '/env' }, ALL, '/env/bin/python'],
  ['.venv beside gx.json where the active one is gone', { VIRTUAL_ENV: '/gone' }, ALL, '/a/b/.venv/bin/python'],
  ['.venv beside gx.json', {}, ALL, '/a/b/.venv/bin/python'],
  ['.venv above it', {}, ['/a/.venv/bin/python', '/bin/python3'], '/a/.venv/bin/python'],
  ['python3, the first one', {}, ['/usr/bin/python3', '/bin/python3'], '/bin/python3'],
])('graphs in Python are run by %s', (_, env, there, program) => {
  expect(chosen(env, there)).toEqual({ program });
});

test.each([
  [{}, 'there is no python3: install it, then run python3 -m venv .venv && .venv/bin/pip install langgraph, or name it by GX_PYTHON'],
  [{ GX_PYTHON: '/gone/python' }, 'GX_PYTHON names /gone/python, which is not there'],
  [{ GX_PYTHON: 'python3.99' }, 'GX_PYTHON names python3.99, which is not there'],
])('where there is none (%j), a sentence says what to run', (env, sentence) => {
  expect(chosen(env, [])).toEqual({ fault: expect.stringContaining(sentence) });
});

const folder = mkdtempSync(path.join(tmpdir(), 'gx-python-'));
afterAll(() => rmSync(folder, { recursive: true }));

function standIn(name: string, script: string): string {
  const program = path.join(folder, name);
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  return program;
}

test.each([
  [
    'old',
    'exit 3',
    (program: string) => `Graphs in Python need Python 3.11 or newer, and ${program} is older: name another one by GX_PYTHON`,
  ],
  // Without the packages of its installation, any Python lacks LangGraph.
  [
    'bare',
    'exec python3 -I -S "$@"',
    (program: string) => `Graphs in Python need LangGraph, which ${program} does not have: run ${program} -m pip install langgraph`,
  ],
  ['complete', 'exit 0', () => undefined],
])('an interpreter that is %s is examined', async (name, script, expected) => {
  const program = standIn(name, script);
  expect(await interpreterFault({ program, folder })).toBe(expected(program));
});

test('an interpreter that can not be executed is named', async () => {
  const program = path.join(folder, 'text');
  writeFileSync(program, 'no program');
  expect(await interpreterFault({ program, folder })).toBe(
    `Graphs in Python need an interpreter, and ${program} can't be run: name another one by GX_PYTHON`,
  );
});
