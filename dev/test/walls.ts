import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { DevError } from '../errors.ts';
import { runMain, printLine } from '../steps.ts';
import { listSharedNames } from './exported-names.ts';
import { listFolderCircles } from './folder-circles.ts';

/*
 * A wall that reports success on nothing is worse than none. Each fixture holds one planted fault, and says on its
 * first lines where it would stand (`// at: src/...`) and which rule must refuse it (`// rule: ...`).
 */
const FIXTURES = 'test/walls';

/** The most casts through `unknown` in all of src. Each is a hole in the types. */
const MOST_CASTS = 8;

type Fixture = { file: string; at: string; rule: string; text: string };

function readFixtures(): Fixture[] {
  return readdirSync(FIXTURES)
    .filter((file) => file.endsWith('.fixture.ts'))
    .map((file) => {
      const text = readFileSync(join(FIXTURES, file), 'utf8');
      return {
        file,
        text,
        at: /\/\/ at: (\S+)/.exec(text)?.[1] ?? '',
        rule: /\/\/ rule: (\S+)/.exec(text)?.[1] ?? '',
      };
    });
}

/** Throws if there are too many casts. The lint sees one file at a time and can't count them. */
function countCasts(): void {
  const casts = globSync('src/**/*.ts').flatMap(
    (file) => readFileSync(file, 'utf8').match(/\bas unknown as\b/g) ?? [],
  );
  if (casts.length > MOST_CASTS)
    throw new DevError(`src has ${casts.length} casts through unknown; at most ${MOST_CASTS}.`);
}

/** Throws when an exported name of src has two meanings. */
function compareNames(): void {
  const shared = listSharedNames('.').map(({ name, files }) => `${name} (${files.join(', ')})`);
  if (shared.length > 0)
    throw new DevError(`Each exported name has one meaning. Rename one of: ${shared.join('; ')}.`);
}

function refuseFolderCircles(): void {
  const circles = listFolderCircles('.').map(
    ({ folder, rooms, files }) => `${folder}: ${rooms.join(', ')} (${files.join(', ')})`,
  );
  if (circles.length > 0)
    throw new DevError(`Rooms import each other in a circle. ${circles.join('; ')}.`);
}

type Diagnostic = { code: string; filename: string };

/** Returns the reports of the lint about a tree, and those of the rules that it can't see. */
function runDiagnostics(root: string): Diagnostic[] {
  const lint = spawnSync('oxlint', ['--format=json'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const { diagnostics } = JSON.parse(lint.stdout) as { diagnostics: Diagnostic[] };
  const shared = listSharedNames(root).flatMap(({ files }) =>
    files.map((filename) => ({ code: 'house(one-meaning)', filename })),
  );
  const circles = listFolderCircles(root).flatMap(({ files }) =>
    files.map((filename) => ({ code: 'house(folder-circle)', filename })),
  );
  return [...diagnostics, ...shared, ...circles];
}

async function main(): Promise<void> {
  countCasts();
  compareNames();
  refuseFolderCircles();
  const copy = mkdtempSync(join(tmpdir(), 'gx-walls-'));
  try {
    for (const file of ['.oxlintrc.json', 'tsconfig.json', 'package.json'])
      copyFileSync(file, join(copy, file));
    cpSync('dev/lint', join(copy, 'dev/lint'), { recursive: true });
    symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
    const planted = readFixtures();
    for (const { at, text } of planted) {
      mkdirSync(dirname(join(copy, at)), { recursive: true });
      writeFileSync(join(copy, at), text);
    }
    const diagnostics = runDiagnostics(copy);
    const holes = planted.filter(
      ({ at, rule }) =>
        !diagnostics.some(
          ({ code, filename }) => filename.endsWith(at) && code.includes(`(${rule})`),
        ),
    );
    if (planted.length === 0) throw new DevError(`${FIXTURES} holds no fixture.`);
    if (holes.length > 0)
      throw new DevError(
        `These faults passed the lint: ${holes.map(({ file, rule }) => `${file} (${rule})`).join(', ')}.`,
      );
    printLine(`${planted.length} planted faults were refused`);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

await runMain(main);
process.exitCode ??= 0;
