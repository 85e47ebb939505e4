import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, inject, test } from 'vitest';

/* The command that runs when an image is built, in a project whose graphs are all in Python. */

type Files = Record<string, string>;
type Built = { folder: string; code: number | null; output: string };

const GRAPHS = { agent: './graph.py:graph' };

/** Runs agent-build on these files, as `GX_PYTHON` of an image says which Python has the packages. */
async function build(
  files: Files,
  graphs: object = GRAPHS,
  python = join(inject('python'), 'python'),
): Promise<Built> {
  const folder = mkdtempSync(join(tmpdir(), 'gx-agent-build-'));
  for (const [name, content] of Object.entries({
    'gx.json': JSON.stringify({ graphs }),
    ...files,
  })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  const env = {
    PATH: process.env['PATH'],
    GX_CONFIG: join(folder, 'gx.json'),
    GX_BUILD_FOLDER: join(folder, 'built'),
    GX_PYTHON: python,
  };
  const child = spawn(process.execPath, ['src/main.ts', 'agent-build'], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { folder, code: child.exitCode, output: output + errors };
}

test.each<[string, Files, object, string]>([
  ['wrong syntax', { 'graph.py': 'def graph(:\n    pass\n' }, GRAPHS, 'graph.py:1: SyntaxError: '],
  [
    'wrong syntax in a module that it imports',
    { 'graph.py': 'import words\n', 'words.py': 'x = = 1\n' },
    GRAPHS,
    'words.py:1: SyntaxError: ',
  ],
  [
    'a module that its package lacks',
    { 'graph.py': 'import os\nfrom words.answers import answer\n', 'words/__init__.py': '' },
    GRAPHS,
    "graph.py:2: ModuleNotFoundError: No module named 'words.answers'",
  ],
  [
    'a module that a package of its package lacks',
    { 'words/__init__.py': '', 'words/graph.py': 'from .answers import answer\n' },
    { agent: 'words.graph:graph' },
    "words/graph.py:1: ModuleNotFoundError: No module named 'words.answers'",
  ],
  [
    'the name of a module that is not there',
    { 'words/__init__.py': '' },
    { agent: 'words.grpah:graph' },
    "No module named 'words.grpah'",
  ],
  ['a file that is not there', {}, GRAPHS, 'graph.py is not there.'],
  [
    'an import beside a file that is no module of a package',
    { 'graph.py': 'from .words import x\n' },
    GRAPHS,
    'graph.py:1: ImportError: ',
  ],
])('%s ends the build with a sentence', async (_what, files, graphs, words) => {
  const { code, output } = await build(files, graphs);
  expect(output).toContain("Graphs can't be loaded. ");
  expect(output).toContain(words);
  expect(code).not.toBe(0);
});

test.each([
  ['a variable that is not set', 'import os\ngraph = os.environ["API_KEY_OF_THE_DEPLOYMENT"]\n'],
  ['a package that only the image has', 'import a_package_of_the_image.part\n'],
  ['a module that a package of the image lacks', 'import json.nothing\n'],
  ['text that it parses', 'import ast\nast.parse("x = = 1")\n'],
  ['its own end', 'import sys\nprint("said")\nsys.exit(3)\n'],
  ['the end of its process', 'import os\nos._exit(3)\n'],
])('a module that fails for %s is left to the server', async (_what, graph) => {
  const { folder, code, output } = await build({ 'graph.py': graph });
  expect(output).not.toContain("can't be loaded");
  expect(output).not.toContain('types of the graphs');
  expect(code).toBe(0);
  // Byte code beside modules would make layers of images differ.
  expect(existsSync(join(folder, '__pycache__'))).toBe(false);
});

test('where there is no Python, the log says that nothing was tried', async () => {
  const { code, output } = await build({ 'graph.py': 'x = = 1\n' }, GRAPHS, '/nowhere/python');
  expect(output).toContain('the modules of the graphs were not loaded for a trial');
  expect(output).toContain('GX_PYTHON names /nowhere/python, which is not there');
  expect(code).toBe(0);
});
