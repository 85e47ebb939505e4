import { relative } from 'node:path';
import process from 'node:process';
import { beforeAll, beforeEach, inject } from 'vitest';
import type { RunnerTestSuite, RunnerTestCase } from 'vitest';
import { TWINS_PYTHON } from '../../kit/twins.ts';
import { reasonFor, strays, TWINS } from './table.ts';

/* The servers of these tests run Python twins. Tests that the table leaves out are skipped, with its reason. */

type Task = RunnerTestSuite | RunnerTestCase;

process.env[TWINS_PYTHON] = `${inject('python')}/python`;

/** Returns the name of a test with those of the groups that it is in. */
const nameOf = ({ name, suite }: Task): string => (suite === undefined || suite.type !== 'suite' ? name : `${nameOf(suite)} > ${name}`);

const testsIn = ({ tasks }: RunnerTestSuite): string[] => tasks.flatMap((task) => (task.type === 'suite' ? testsIn(task) : [nameOf(task)]));

const leftOutOf = (file: { filepath: string }) => TWINS[relative(process.cwd(), file.filepath)] ?? {};

// oxlint-disable-next-line no-empty-pattern -- Vitest gives the file behind the fixtures, of which this takes none.
beforeAll(({}, { file }) => {
  const found = strays(leftOutOf(file), testsIn(file));
  if (found.length > 0) throw new Error(`The table of the twins leaves out tests that are not there: ${found.join('; ')}`);
});

beforeEach(({ task, skip }) => {
  const reason = reasonFor(leftOutOf(task.file), nameOf(task));
  if (reason !== undefined) skip(reason);
});
