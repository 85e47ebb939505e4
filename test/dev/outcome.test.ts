import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import type { TestModule } from 'vitest/node';
import OutcomeReporter, {
  LEFT_OUT,
  getOutcomePath,
  type Outcome,
} from '../../dev/test/reporter.ts';

/* What a suite counts of its tests. */

/** Returns the outcome of a file whose tests end so. */
function outcomeOf(results: object[]): Outcome {
  const name = `outcome-${randomUUID()}`;
  const module = {
    moduleId: resolve('test/some.test.ts'),
    project: { name },
    errors: () => [],
    diagnostic: () => ({ duration: 2000 }),
    children: {
      allSuites: () => [],
      allTests: () =>
        results.map((result, at) => ({ fullName: `test ${at}`, result: () => result })),
    },
  };
  // Vitest makes such objects in a run of its own alone; these are the parts that the reporter reads.
  new OutcomeReporter().onTestRunEnd([module as unknown as TestModule], []);
  const outcome = JSON.parse(readFileSync(getOutcomePath(name), 'utf8')) as Outcome;
  rmSync(getOutcomePath(name));
  return outcome;
}

test('a test that a table leaves out is counted apart from one that is skipped, which fails its suite', () => {
  const skipped = [{ state: 'skipped' }, { state: 'skipped', note: 'It is slow.' }];
  const leftOut = { state: 'skipped', note: `${LEFT_OUT}It is about zod.` };
  expect(outcomeOf([{ state: 'passed' }, leftOut, ...skipped])).toEqual({
    passed: 1,
    failed: 0,
    skipped: 2,
    leftOut: 1,
    failures: [],
    files: [['test/some.test.ts', 2]],
  });
});

test('a test that fails is counted with its words', () => {
  const { failed, failures } = outcomeOf([{ state: 'failed', errors: [{ message: 'no' }] }]);
  expect([failed, failures]).toEqual([
    1,
    [expect.stringContaining('test/some.test.ts: test 0\nno')],
  ]);
});
