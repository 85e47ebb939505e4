import { beforeAll, beforeEach } from 'vitest';
import type { RunnerTestCase, RunnerTestSuite } from 'vitest';
import { LEFT_OUT } from '../../dev/test/reporter.ts';

/** The tests of a file that are left out, or groups of them, each with the reason. */
export type LeftOut = Readonly<Record<string, string>>;

type Task = RunnerTestSuite | RunnerTestCase;

const isIn = (test: string, name: string): boolean =>
  test === name || test.startsWith(`${name} > `);

/** Returns why a test is left out, if it is. */
export const reasonFor = (leftOut: LeftOut, test: string): string | undefined =>
  Object.entries(leftOut).find(([name]) => isIn(test, name))?.[1];

/** Returns the names that are left out, and that no test has. */
export const strays = (leftOut: LeftOut, tests: string[]): string[] =>
  Object.keys(leftOut).filter((name) => !tests.some((test) => isIn(test, name)));

/** Returns the name of a test with those of the groups that it is in. */
const nameOf = ({ name, suite }: Task): string =>
  suite === undefined || suite.type !== 'suite' ? name : `${nameOf(suite)} > ${name}`;

const testsIn = ({ tasks }: RunnerTestSuite): string[] =>
  tasks.flatMap((task) => (task.type === 'suite' ? testsIn(task) : [nameOf(task)]));

/** Has the tests skipped that a table leaves out, with its reason. A name in it that no test has fails its file. */
export function leaveOut(leftOutOf: (file: string) => LeftOut): void {
  // oxlint-disable-next-line no-empty-pattern -- Vitest gives the file behind the fixtures, of which this takes none.
  beforeAll(({}, { file }) => {
    const found = strays(leftOutOf(file.filepath), testsIn(file));
    if (found.length > 0)
      throw new Error(`A table leaves out tests that are not there: ${found.join('; ')}`);
  });

  beforeEach(({ task, skip }) => {
    const reason = reasonFor(leftOutOf(task.file.filepath), nameOf(task));
    if (reason !== undefined) skip(`${LEFT_OUT}${reason}`);
  });
}
