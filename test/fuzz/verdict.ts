/** What schemathesis writes of a run (`--report json`), as far as it is read here. */
export type FuzzReport = {
  failures: { title: string; operations: string[] }[];
  errors: { title: string }[];
  test_cases: { generated: number };
};

/** `cases`: requests that were sent. */
export type Verdict = { kind: 'clean'; cases: number } | { kind: 'faults' | 'broken'; what: string[] };

/** A server that gives no answer in time is a fault of the server; every other error is one of the tool. */
const NO_ANSWER = 'Network Error';

/**
 * How a run of the fuzzer ended: nothing found, faults found, or the tool itself broke and proved nothing. A run
 * without a report broke.
 */
export function verdictOf(exitCode: number, report: FuzzReport | undefined): Verdict {
  if (report === undefined) return { kind: 'broken', what: [`ended with ${exitCode} and without a report`] };
  const silent = report.errors.filter(({ title }) => title === NO_ANSWER).map(({ title }) => title);
  const faults = [...report.failures.map(({ title, operations }) => `${title} (${operations.join(', ')})`), ...silent];
  if (faults.length > 0) return { kind: 'faults', what: faults };
  if (exitCode === 0) return { kind: 'clean', cases: report.test_cases.generated };
  const titles = report.errors.map(({ title }) => title);
  return { kind: 'broken', what: titles.length > 0 ? titles : [`ended with ${exitCode}`] };
}
