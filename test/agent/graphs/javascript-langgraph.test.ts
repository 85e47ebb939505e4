import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  checkLanggraph,
  listUntriedLanggraphs,
} from '../../../src/agent/graphs/javascript-langgraph.ts';
import { LOWEST_LANGGRAPH } from '../../../src/agent/graphs/python.ts';

/* The LangGraph that a project brings is told by its version, before its graphs are loaded. */

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'gx-langgraph-'))));
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, content: object = {}): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), JSON.stringify(content));
}
const install = (version: string): void =>
  write('node_modules/@langchain/langgraph/package.json', { version, exports: {} });
const graph = (): { language: 'javascript'; file: string } => ({
  language: 'javascript',
  file: join(folder, 'apps/agent/graph.ts'),
});

test.each([
  ['yarn.lock', 'yarn add'],
  ['pnpm-lock.yaml', 'pnpm add'],
  ['bun.lock', 'bun add'],
  ['package-lock.json', 'npm install'],
])(
  'a project with %s and an old version is told the command of its package manager',
  (lockFile, command) => {
    install('0.2.8');
    write(lockFile);
    expect(checkLanggraph(graph())).toMatch(
      new RegExp(
        `^Graphs in JavaScript need LangGraph 0.3 or newer, and .*langgraph has 0.2.8: run ${command} @langchain/langgraph@latest`,
      ),
    );
    expect(listUntriedLanggraphs([graph()])).toEqual([]);
  },
);

test.each(['0.3.12', '0.4.9', '1.0.15', '1.1.5'])(
  '%s is served with a warning, once for all graphs',
  (version) => {
    install(version);
    expect(checkLanggraph(graph())).toBeUndefined();
    expect(listUntriedLanggraphs([graph(), graph()])).toEqual([
      expect.stringContaining(`LangGraph ${version} is older than 1.2`),
    ]);
  },
);

test.each(['1.2.0', '1.7.3', '2.0.0-alpha.1'])('%s is served', (version) => {
  install(version);
  expect([checkLanggraph(graph()), listUntriedLanggraphs([graph()])]).toEqual([undefined, []]);
});

test('a project whose LangGraph is not found is loaded, and graphs in Python have none', () => {
  expect([checkLanggraph(graph()), listUntriedLanggraphs([graph()])]).toEqual([undefined, []]);
  install('0.2.8');
  expect(checkLanggraph({ language: 'python', file: join(folder, 'agent.py') })).toBeUndefined();
});

test('the runner of Python knows the same oldest version as the server', () => {
  const [, major, minor] = /^OLDEST = \((\d+), (\d+)\)$/m.exec(
    readFileSync('python/gx_runner/oldest.py', 'utf8'),
  )!;
  expect(`${major}.${minor}`).toBe(LOWEST_LANGGRAPH);
});
