import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { runMain } from '../steps.ts';
import { parseFile, type NamedFunction } from './functions.ts';
import { findLongestChain } from './imports.ts';
import { findNameForm, isNamedByRule } from './names.ts';
import { printWalks } from './named-walks.ts';

/*
 * Prints what can be counted about how this source reads, beside three code bases that read well: atproto's pds,
 * graphile/worker and the reconcilers of knative. It is a report for the next reader, and no gate.
 */

const ASK_ABOUT_LINES = 400;
const MANY_FILES = 15;

type Row = [
  figure: string,
  ours: string,
  goal: string,
  pds: string,
  graphile: string,
  knative: string,
];

const listFiles = (folder: string): string[] =>
  globSync(`${folder}/**/*.{ts,tsx}`, {
    exclude: (name) => name.includes('dev/cluster/parts'),
  }).toSorted();

const countLines = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1;
const toPercent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;

/** Returns the lines of src when it is as wide as the code bases beside it, by the formatter. */
function countLinesAtWidth(width: number): number {
  const folder = mkdtempSync(join(tmpdir(), 'gx-width-'));
  try {
    cpSync('src', join(folder, 'src'), { recursive: true });
    writeFileSync(
      join(folder, '.oxfmtrc.json'),
      JSON.stringify({
        ...(JSON.parse(readFileSync('.oxfmtrc.json', 'utf8')) as object),
        printWidth: width,
      }),
    );
    execFileSync(join(process.cwd(), 'node_modules/.bin/oxfmt'), { cwd: folder, stdio: 'ignore' });
    return globSync('src/**/*.{ts,tsx}', { cwd: folder }).reduce(
      (sum, file) => sum + countLines(join(folder, file)),
      0,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const PYTHON_FUNCTION = /^[ \t]*(?:async )?def (?!__)(\w+)/gm;

const listPythonFunctions = (): NamedFunction[] =>
  globSync('python/gx_runner/**/*.py').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(PYTHON_FUNCTION)].map(([, name = '']) => ({
      file,
      name,
      kind: 'declaration' as const,
      isExported: false,
      isTopLevel: true,
    })),
  );

function buildNameRows(functions: NamedFunction[], where: string): Row[] {
  const judged = functions.filter((one) => !isNamedByRule(one));
  const forms = judged.map(({ name }) => findNameForm(name));
  const share = (...wanted: string[]): string =>
    toPercent(forms.filter((form) => wanted.includes(form)).length, judged.length);
  return [
    [
      `${where}: ${judged.length} functions, begin with a verb`,
      share('verb', 'question'),
      '90 %',
      '64 %',
      '69 %',
      '56 %',
    ],
    [`${where}: begin with a participle`, share('participle'), '< 1 %', '0 %', '1 %', '1 %'],
    [`${where}: noun and preposition`, share('preposition'), '< 1 %', '0 %', '0 %', '0 %'],
  ];
}

function printTable(rows: Row[]): void {
  const head: Row = ['', 'ours', 'goal', 'pds', 'graphile', 'knative'];
  const width = Math.max(...rows.map(([figure]) => figure.length));
  for (const [figure, ...cells] of [head, ...rows])
    process.stdout.write(
      `${figure.padEnd(width)}  ${cells.map((cell) => cell.padStart(9)).join('')}\n`,
    );
}

/**
 * Arguments: `names` also lists the functions that begin otherwise, `files` the long files and the full folders.
 * `walks` prints the named walks through the source instead, and `walks 1` the files of the first.
 */
await runMain(async () => {
  const [report, walk] = process.argv.slice(2);
  if (report === 'walks') return printWalks(walk);
  const src = listFiles('src').map((file) => parseFile('.', file));
  const dev = listFiles('dev').map((file) => parseFile('.', file));
  const functions = [...src, ...dev].flatMap((file) => file.functions);
  const python = listPythonFunctions();
  const helpers = src
    .flatMap((file) => file.functions)
    .filter(({ isExported, isTopLevel }) => isTopLevel && !isExported).length;
  const once = src.flatMap((file) => file.localTypes).filter(({ uses }) => uses === 1).length;
  const long = listFiles('src')
    .map((file) => ({ file, lines: countLines(file) }))
    .filter(({ lines }) => lines > ASK_ABOUT_LINES);
  const chain = findLongestChain('.');
  const narrow = countLinesAtWidth(80);
  printTable([
    ...buildNameRows(functions, 'src and dev'),
    ...buildNameRows(python, 'python'),
    ['Pick<', String(src.reduce((sum, { picks }) => sum + picks, 0)), '150', '3', '1', '-'],
    ['local types that are used once', String(once), '120', '-', '-', '-'],
    [
      'private helpers in 1,000 lines, at width 80',
      ((1000 * helpers) / narrow).toFixed(1),
      '13',
      '2.6',
      '2.8',
      '14',
    ],
    ['lines of src, at width 80', String(narrow), '-', '20,817', '9,358', '13,913'],
    [`files of src over ${ASK_ABOUT_LINES} lines`, String(long.length), '-', '-', '-', '-'],
    ['longest chain of imports', String(chain.length), '25', '18', '4', '-'],
  ]);
  if (process.argv.includes('names'))
    for (const { file, name } of [...functions, ...python].filter(
      (one) => !isNamedByRule(one) && !['verb', 'question'].includes(findNameForm(one.name)),
    ))
      process.stdout.write(`${file}: ${name}\n`);
  if (process.argv.includes('files')) {
    for (const { file, lines } of long) process.stdout.write(`${file}: ${lines} lines\n`);
    const folders = Map.groupBy(listFiles('src'), (file) => file.slice(0, file.lastIndexOf('/')));
    for (const [folder, files] of folders)
      if (files.length > MANY_FILES) process.stdout.write(`${folder}: ${files.length} files\n`);
    process.stdout.write(`${chain.join('\n  ')}\n`);
  }
});
