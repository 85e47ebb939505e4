import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { proveLoading } from '../../../src/agent/graph-types/loads.ts';
import { silentLog } from '../../kit/log.ts';

const { signal } = new AbortController();

async function loaded(name: string, text: string): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'gx-loads-'));
  const file = path.join(folder, name);
  writeFileSync(file, text);
  const graphs = [
    {
      graphId: 'chat',
      language: 'javascript',
      file,
      exportName: 'graph',
      description: null,
    } as const,
  ];
  await proveLoading({ graphs, folder, python: { fault: 'none is needed' } }, silentLog(), signal);
}

test.each([
  ['a.mjs', 'export const graph = {;', /a\.mjs: SyntaxError/],
  ['b.ts', 'export const graph: = 1;', /b\.ts: .*Error/],
  [
    'c.mjs',
    "import './absent.mjs'; export const graph = 1;",
    /c\.mjs: Error: Cannot find module .*absent/,
  ],
])('the module %s, whose text is %s, can never be loaded', async (name, text, words) => {
  await expect(loaded(name, text)).rejects.toThrow(words);
});

test.each([
  ['export const graph = 1;'],
  ["throw new Error('API_KEY is not set');"],
  ["JSON.parse(process.env.ABSENT ?? 'no json');"],
  ["import 'a-package-that-only-the-image-has';"],
  ['process.exit(3);'],
])('a module whose text is %s is left to the server', async (text) => {
  await expect(loaded('graph.mjs', text)).resolves.toBeUndefined();
});

/** Milliseconds for a build that yields, where others use each core all the time. */
const YIELDING = 120_000;

/** Begins a command with the lowest priority, and without the privilege to raise it, as in a pod of a busy node. */
const NICEST = [
  ...(process.getuid?.() === 0
    ? ['setpriv', '--bounding-set=-sys_nice', '--inh-caps=-sys_nice']
    : []),
  'nice',
  '-n',
  '19',
];

test(
  'a build that yields to all others tries its modules, too',
  { timeout: YIELDING },
  async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'gx-loads-'));
    writeFileSync(
      path.join(folder, 'gx.json'),
      JSON.stringify({ graphs: { agent: './graph.mjs:graph' } }),
    );
    writeFileSync(path.join(folder, 'graph.mjs'), 'export const graph = {;');
    const env = {
      PATH: process.env['PATH'],
      GX_CONFIG: path.join(folder, 'gx.json'),
      GX_BUILD_FOLDER: path.join(folder, 'built'),
    };
    const args = [...NICEST, process.execPath, 'src/main.ts', 'agent-build'];
    await expect(promisify(execFile)('env', args, { env })).rejects.toMatchObject({
      stderr: expect.stringContaining("Graphs can't be loaded"),
    });
  },
);
