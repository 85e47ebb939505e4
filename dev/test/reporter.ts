import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestModule, TestResult, TestSuite } from 'vitest/node';

/**
 * The result of one run of vitest: counts of its tests, a text for each failure of a test, a hook or a file, and the
 * seconds that each file took, the slowest first.
 */
export type Outcome = {
  passed: number;
  failed: number;
  skipped: number;
  leftOut: number;
  failures: string[];
  files: Timed[];
};

type Timed = [file: string, seconds: number];

const compareDurations = ([, one]: Timed, [, other]: Timed): number => other - one;

type Fault = { message: string; stack?: string; diff?: string };

/** The note of a test that a table leaves out begins with it. A test that is skipped otherwise fails its suite. */
export const LEFT_OUT = 'Left out: ';

/** The file that has the outcome of a project's last run. */
export const getOutcomePath = (project: string): string => `.run/test/${project}.json`;

/** Writes the outcome of a run as JSON. Vitest's own JSON leaves out the failures of hooks in a `describe`. */
export default class OutcomeReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly Fault[]): void {
    const outcome: Outcome = {
      passed: 0,
      failed: 0,
      skipped: 0,
      leftOut: 0,
      failures: unhandled.map((fault) => formatFailure('outside of a test', [fault])),
      files: modules
        .map((module): Timed => [
          toRelativePath(module),
          Math.round(module.diagnostic().duration / 1000),
        ])
        .toSorted(compareDurations),
    };
    for (const module of modules) {
      for (const part of [module, ...module.children.allSuites()])
        if (part.errors().length > 0) outcome.failures.push(formatHookFailure(module, part));
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === 'pending') continue;
        outcome[isLeftOut(result) ? 'leftOut' : result.state] += 1;
        if (result.state === 'failed')
          outcome.failures.push(
            formatFailure(`${toRelativePath(module)}: ${test.fullName}`, result.errors),
          );
      }
    }
    const [first] = modules;
    if (first === undefined) return;
    const file = getOutcomePath(first.project.name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(outcome));
  }
}

const isLeftOut = (result: TestResult): boolean =>
  result.state === 'skipped' && result.note?.startsWith(LEFT_OUT) === true;

const toRelativePath = (module: TestModule): string => relative('.', module.moduleId);

const formatHookFailure = (module: TestModule, part: TestModule | TestSuite): string =>
  formatFailure(
    part.type === 'module'
      ? toRelativePath(module)
      : `${toRelativePath(module)}: before or after "${part.fullName}"`,
    part.errors(),
  );

const formatFailure = (where: string, faults: readonly Fault[]): string =>
  `FAILED ${where}\n${faults.map(formatError).join('\n')}`;

/** Returns a message with its stack, without the test runner's frames, and the difference of both values. */
const formatError = ({ message, stack = '', diff = '' }: Fault): string =>
  [stack.includes(message) ? stack : `${message}\n${stack}`, stripVTControlCharacters(diff)]
    .join('\n')
    .trimEnd()
    .split('\n')
    .filter((line) => !/^ +at .*(node_modules|new Promise|node:internal)/.test(line))
    .join('\n');
