import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { delimiter, resolve } from 'node:path';
import process from 'node:process';
import { choose } from '../cluster/choose.ts';
import type { Provider } from '../cluster/provider.ts';
import { readDevConfig, extendEnvironment } from '../env.ts';
import { UsageError } from '../errors.ts';
import { runMain, printLine } from '../steps.ts';
import { compileBehind, NEEDS_NO_PARTS, listNeededParts } from './parts-behind.ts';
import { getOutcomePath, type Outcome } from './reporter.ts';
import { SUITES, type Check } from './suites.ts';

type Cluster = Provider['kind'];
type Result = {
  check: Check;
  ok: boolean;
  seconds: number;
  busy: number;
  /** The end of its standard error, such as why nothing could start. */
  lastErrors: string;
  /** Seconds of its files when it last ran here. */
  previousFiles: Outcome['files'];
  /** Of vitest, if it came so far. */
  outcome: Outcome | undefined;
};

const NO_OUTCOME: Outcome = {
  passed: 0,
  failed: 0,
  skipped: 0,
  leftOut: 0,
  failures: [],
  files: [],
};

/** Runs the named suites, even after a failure, and ends with a summary of passed and failed tests. */
async function main(names: string[]): Promise<void> {
  const unknown = names.filter((name) => SUITES[name] === undefined);
  if (names.length === 0 || unknown.length > 0)
    throw new UsageError(`Usage: node dev/test/main.ts ${Object.keys(SUITES).join('|')} ...`);
  const provider = names.some((name) => ['system', 'runbooks'].includes(name))
    ? await choose()
    : undefined;
  await provider?.require();
  mkdirSync('.run/test', { recursive: true });
  const parts = compileBehind(listNeededParts(names, provider?.kind));
  const results: Result[] = [];
  for (const name of names) {
    if (!NEEDS_NO_PARTS.includes(name)) await parts.compiled();
    results.push(...(await runSuite(SUITES[name] ?? [], provider?.kind)));
  }
  report(results);
}

async function runSuite(checks: Check[], cluster: Cluster | undefined): Promise<Result[]> {
  const results: Result[] = [];
  for (const check of checks) {
    if (check.cluster === undefined || check.cluster === cluster)
      results.push(await run(filterForCluster(check, cluster)));
    else
      printLine(
        `==> ${check.name}\n    nothing to prove: the cluster of this machine is ${cluster}, and they are about the ${check.cluster} one`,
      );
  }
  return results;
}

/** Returns the check without the files that have nothing to prove on this kind of cluster, and says which they are. */
function filterForCluster(check: Check, cluster: Cluster | undefined): Check {
  const { nativeOnly = [], command } = check;
  if (nativeOnly.length === 0 || cluster === 'native') return check;
  printLine(
    `==> ${nativeOnly.join(', ')}\n    nothing to prove: the cluster of this machine is ${cluster}, and they are about the native one`,
  );
  return { ...check, command: [...command, ...nativeOnly.map((file) => `--exclude=${file}`)] };
}

async function run(check: Check): Promise<Result> {
  const previousFiles = readReport(check)?.files ?? [];
  if (check.vitest === true) rmSync(reportFile(check), { force: true });
  printLine(`==> ${check.name}`);
  const started = performance.now();
  const before = readProcessorTime();
  const { code, output } = await execute(check.command, check.vitest === true);
  const seconds = (performance.now() - started) / 1000;
  if (code !== 0 && check.vitest !== true) printLine(output.trimEnd());
  printLine(`    ${code === 0 ? 'ok' : 'FAILED'} in ${seconds.toFixed(1)} s`);
  const lastErrors = output.trimEnd().slice(-LAST_ERRORS_CHARACTERS);
  const busy = computeBusyPercent(before);
  // Read at once: a later check of the same project writes over it.
  const outcome = readReport(check);
  return { check, ok: code === 0, seconds, busy, lastErrors, previousFiles, outcome };
}

type ProcessorTime = { idle: number; all: number };

/** Returns the milliseconds that the machine's processors have spent idle, and in all, since it started. */
function readProcessorTime(): ProcessorTime {
  const times = cpus().map((cpu) => cpu.times);
  const sum = (of: number[]): number => of.reduce((one, other) => one + other, 0);
  return {
    idle: sum(times.map(({ idle }) => idle)),
    all: sum(times.flatMap((time) => Object.values(time))),
  };
}

/** Returns the percent of the machine's processor time that were used since then. A suite that waits uses little. */
function computeBusyPercent(before: ProcessorTime): number {
  const now = readProcessorTime();
  return Math.round(100 * (1 - (now.idle - before.idle) / Math.max(1, now.all - before.all)));
}

const LAST_ERRORS_CHARACTERS = 4000;

/**
 * Runs a command and returns its code and output, of vitest its standard error alone. Vitest's output is shown as it
 * comes, a tool's only if it fails.
 */
function execute(
  [command = '', ...args]: string[],
  live: boolean,
): Promise<{ code: number; output: string }> {
  return new Promise((done, reject) => {
    const env = extendEnvironment({
      PATH: [resolve('node_modules/.bin'), ...readDevConfig().path].join(delimiter),
    });
    const child = spawn(command, args, {
      env,
      stdio: ['ignore', live ? 'inherit' : 'pipe', 'pipe'],
    });
    const chunks: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (live) process.stderr.write(chunk);
    });
    child.once('error', reject);
    child.once('close', (code) =>
      done({ code: code ?? 1, output: Buffer.concat(chunks).toString() }),
    );
  });
}

const reportFile = (check: Check): string => getOutcomePath(check.name.replace('tests: ', ''));

type Counts = Pick<Outcome, 'passed' | 'failed' | 'skipped' | 'leftOut'>;

/**
 * Returns the counts of a result. A tool counts as one. A vitest run counts as its tests, or as one failure if it ended
 * without a report.
 */
function countTests({ check, ok, outcome = NO_OUTCOME }: Result): Counts {
  if (check.vitest !== true)
    return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0, leftOut: 0 };
  const { passed, failed, skipped, leftOut } = outcome;
  return { passed, failed: Math.max(failed, ok ? 0 : 1), skipped, leftOut };
}

function readReport(check: Check): Outcome | undefined {
  try {
    return JSON.parse(readFileSync(reportFile(check), 'utf8')) as Outcome;
  } catch {
    return undefined;
  }
}

/** The seconds of each suite when it last ran; those of its files stand beside it, in its outcome. */
const SECONDS_FILE = '.run/test/seconds.json';

function readSeconds(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(SECONDS_FILE, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}

/** Seconds from which a suite's slowest files are named. */
const LONG = 60;

const listSlowest = ({ outcome = NO_OUTCOME }: Result): string[] =>
  outcome.files.slice(0, 5).map(([file, seconds]) => `${file} ${seconds} s`);

/** A file or a suite is slower if it takes so many times as long as last time, and so many seconds more. */
const SLOWER = { file: { times: 1.5, seconds: 5 }, suite: { times: 1.2, seconds: 10 } };

const isSlower = (kind: keyof typeof SLOWER, seconds: number, before = seconds): boolean =>
  seconds > before * SLOWER[kind].times && seconds > before + SLOWER[kind].seconds;

/** Returns the suite itself and its files that took much longer than when it last ran here, with both times. */
function listSlower(
  { seconds, outcome = NO_OUTCOME, previousFiles }: Result,
  secondsBefore: number | undefined,
): string[] {
  const previous = new Map(previousFiles);
  const files = outcome.files.filter(([file, now]) => isSlower('file', now, previous.get(file)));
  return [
    ...(isSlower('suite', seconds, secondsBefore)
      ? [`all of it ${seconds.toFixed(0)} s (${secondsBefore?.toFixed(0)} s)`]
      : []),
    ...files.map(([file, now]) => `${file} ${now} s (${previous.get(file)} s)`),
  ];
}

/** Returns a text for each failure. A run without a report, such as one whose cluster did not start, has its errors. */
function listFailures({ check, ok, lastErrors, outcome = NO_OUTCOME }: Result): string[] {
  if (check.vitest !== true) return [];
  const { failures } = outcome;
  return ok || failures.length > 0 ? failures : [`FAILED ${check.name}\n${lastErrors}`];
}

function report(results: Result[]): void {
  const total: Counts = { passed: 0, failed: 0, skipped: 0, leftOut: 0 };
  const secondsBefore = readSeconds();
  printLine('');
  for (const result of results) {
    const { passed, failed, skipped, leftOut } = countTests(result);
    total.passed += passed;
    total.failed += failed + (result.check.vitest === true && passed === 0 && failed === 0 ? 1 : 0);
    total.skipped += skipped;
    total.leftOut += leftOut;
    printLine(
      `${result.ok ? 'ok    ' : 'FAILED'} ${result.seconds.toFixed(1).padStart(7)} s ${String(result.busy).padStart(3)} % busy  ${String(passed).padStart(4)} passed ${String(failed).padStart(3)} failed  ${result.check.name}`,
    );
    if (result.seconds > LONG) printLine(`        slowest: ${listSlowest(result).join(', ')}`);
    const slower = listSlower(result, secondsBefore[result.check.name]);
    if (slower.length > 0) printLine(`        slower than last time: ${slower.join(', ')}`);
  }
  const seconds = Object.fromEntries(results.map((result) => [result.check.name, result.seconds]));
  writeFileSync(SECONDS_FILE, JSON.stringify({ ...secondsBefore, ...seconds }));
  for (const text of results.flatMap(listFailures)) printLine(`\n${text}`);
  printLine('');
  const without = total.leftOut > 0 ? `, ${total.leftOut} left out by tables, with reasons` : '';
  printLine(
    `${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}${without}`,
  );
  if (total.failed > 0 || total.skipped > 0) process.exitCode = 1;
}

await runMain(() => main(process.argv.slice(2)));
