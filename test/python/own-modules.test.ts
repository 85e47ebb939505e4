import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';

/* What the modules of the runner may be like: what they import, whose private names they use, how long they are. */

const run = promisify(execFile);
const FILES = globSync('python/gx_runner/**/*.py').toSorted();
/** Whatever a project with LangGraph has. */
const NEEDED = ['langchain_core', 'langgraph', 'orjson', 'pydantic'];
/** What a project has that uses them; they are imported where it does. */
const WHERE_USED = ['httpx', 'langchain', 'langgraph_sdk', 'opentelemetry', 'starlette'];
/** Modules that are themselves imported only where such a package is used. */
const OF_A_PACKAGE = ['current_span', 'transport'];
/** Private names that are Python's, Starlette's, or the runner's own. */
const NOT_OF_LANGGRAPH = [
  '_asdict',
  '_calls',
  '_context',
  '_current_frames',
  '_exit',
  '_get_running_loop',
  '_low_priority_routes',
  '_made',
  '_open_by_key',
  '_replace',
  '_run',
  '_target',
];

/** It prints, for each file, the packages that it imports beside the standard library: at its top, and in functions. */
const IMPORTS = `
import ast, json, sys
def packages(nodes):
    names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
    names += [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module]
    return sorted({name.split(".")[0] for name in names} - sys.stdlib_module_names - {"gx_runner"})
found = {}
for file in sys.argv[1:]:
    tree = ast.parse(open(file).read())
    top = {id(node) for node in tree.body}
    nodes = list(ast.walk(tree))
    found[file] = {"top": packages([n for n in nodes if id(n) in top]), "all": packages(nodes)}
print(json.dumps(found))`;

test('they import the standard library, and packages that every project with LangGraph has', async () => {
  const { stdout } = await run(`${inject('python')}/python`, ['-c', IMPORTS, ...FILES]);
  const found = Object.entries(
    JSON.parse(stdout) as Record<string, { top: string[]; all: string[] }>,
  );
  const always = found.filter(
    ([file]) => !OF_A_PACKAGE.some((name) => file.endsWith(`/${name}.py`)),
  );
  const sorted = (names: string[]): string[] => [...new Set(names)].toSorted();
  expect(sorted(always.flatMap(([, { top }]) => top))).toEqual(NEEDED);
  expect(sorted(found.flatMap(([, { all }]) => all))).toEqual(sorted([...NEEDED, ...WHERE_USED]));
});

test('they use private names of LangGraph in one file alone', () => {
  const others = FILES.filter((file) => !file.endsWith('/compat.py')).map((file) =>
    readFileSync(file, 'utf8'),
  );
  expect(others.length).toBeGreaterThan(50);
  const names = others.flatMap((text) =>
    [...text.matchAll(/(?:(?<!\bself|\bcls)\.|")(_[a-z]\w*)/g)].map(([, name]) => name!),
  );
  expect([...new Set(names)].toSorted()).toEqual(NOT_OF_LANGGRAPH);
  expect(others.filter((text) => /import _[a-z]|__pregel/.test(text))).toEqual([]);
});

test('they have at most 400 lines', () => {
  const long = FILES.filter(
    (file) => readFileSync(file, 'utf8').trimEnd().split('\n').length > 400,
  );
  expect(long).toEqual([]);
});

const FOLDER = 'python/gx_runner/';

/** Returns the folders that a folder's modules import from. */
function listImportedFolders(folder: string): string[] {
  const files = FILES.filter((file) => file.startsWith(`${FOLDER}${folder}/`));
  const imported = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/from gx_runner\.(\w+)[. ]/g)].map(([, to]) => to!),
  );
  return [...new Set(imported)].filter((to) => to !== folder);
}

test('their folders import each other without a circle, and have at most 15 modules', () => {
  const folders = [...new Set(FILES.map((file) => file.slice(FOLDER.length).split('/')))]
    .flatMap(([folder, file]) => (file === undefined ? [] : [folder!]))
    .filter((folder, at, all) => all.indexOf(folder) === at);
  expect(folders.length).toBeGreaterThan(5);
  const left = new Map(folders.map((folder) => [folder, listImportedFolders(folder)]));
  // A folder leaves when all that it imports have left: those of a circle stay.
  for (let before = -1; left.size !== before;) {
    before = left.size;
    for (const [folder, imported] of left)
      if (!imported.some((one) => left.has(one))) left.delete(folder);
  }
  expect([...left]).toEqual([]);
  const sizes = folders.map((folder): [string, number] => [
    folder,
    FILES.filter((file) => file.startsWith(`${FOLDER}${folder}/`)).length - 1,
  ]);
  expect(sizes.filter(([, size]) => size > 15)).toEqual([]);
});
