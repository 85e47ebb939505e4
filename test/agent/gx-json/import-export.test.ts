import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { COMPILE_CACHE } from '../../kit/compile-cache.ts';

/* Modules of users that can't be loaded, and the sentences that say why. */

const root = mkdtempSync(path.join(tmpdir(), 'gx-import-'));
afterAll(() => rmSync(root, { recursive: true }));

/** Loads a graph as a graph thread does, which the modules of a test runner could not. */
const LOAD = `
import { register } from 'tsx/esm/api';
import { importExport } from './src/agent/gx-json/import-export.ts';
register();
const error = await importExport({ file: process.argv.at(-1), exportName: 'graph' }, 'Graph "agent"').then(() => ({ message: 'loaded' }), (error) => error);
process.stdout.write(error.message);`;

let folders = 0;
/** Writes a project, and returns the sentence of its graph. */
async function sentenceOf(files: Record<string, string>, named = 'graph.mjs'): Promise<string> {
  folders += 1;
  const folder = path.join(root, String(folders));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  const args = ['--input-type=module', '--eval', LOAD, path.join(folder, named)];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { PATH: process.env.PATH, ...COMPILE_CACHE },
  });
  return stdout.replaceAll(folder, '.').replaceAll(/\s+/g, ' ');
}

const graph = "import '@acme/graphs/prebuilt';\nexport const graph = 1;\n";
const manifest = JSON.stringify({ dependencies: { '@acme/graphs': '1' } });

test.concurrent.each([
  ['npm', 'package-lock.json', 'npm install in .'],
  ['pnpm', 'pnpm-lock.yaml', 'pnpm install in .'],
  ['yarn', 'yarn.lock', 'yarn install in .'],
  ['bun', 'bun.lock', 'bun install in .'],
])('an install that was forgotten: %s', async (_, lockFile, command) => {
  const sentence = await sentenceOf({
    'graph.mjs': graph,
    'package.json': manifest,
    [lockFile]: '',
  });
  expect(sentence).toBe(
    `Graph "agent": ./graph.mjs imports "@acme/graphs", which is not installed: run ${command}.`,
  );
});

test('a package that the project does not name is to be added, and a module in the middle is named', async () => {
  const files = {
    'graph.mjs': "export { graph } from './lib/made.mjs';\n",
    'lib/made.mjs': "import 'left-pad';\n",
    'package.json': '{}',
  };
  expect(await sentenceOf(files)).toBe(
    'Graph "agent": ./lib/made.mjs imports "left-pad", which is not installed: run npm install left-pad.',
  );
  expect(
    await sentenceOf(
      { 'graph.cjs': "require('left-pad/a.js');", 'package.json': '{}' },
      'graph.cjs',
    ),
  ).toContain('"left-pad", which is not installed: run npm install left-pad.');
});

test('code that throws has its file and line, also where another module of the user throws', async () => {
  const files = {
    'graph.mjs': "import { made } from './made.mjs';\n\nexport const graph = made();\n",
    'made.mjs': 'export const made = () => {\n  throw new TypeError("no stove");\n};\n',
  };
  expect(await sentenceOf(files)).toBe('Graph "agent": ./made.mjs:2: TypeError: no stove');
});

test.each([
  [
    'a file of the user that is not there',
    { 'graph.mjs': "import './gone.mjs';" },
    /^Graph "agent": \.\/graph\.mjs can't be loaded: Error: Cannot find module '.\/gone.mjs'/,
  ],
  [
    'a fault of syntax',
    { 'graph.mjs': 'export const graph = = 1;' },
    /^Graph "agent": \.\/graph\.mjs can't be loaded: (SyntaxError|TransformError|Error: Transform)/,
  ],
])('%s', async (_, files, sentence) => {
  expect(await sentenceOf(files)).toMatch(sentence);
});
