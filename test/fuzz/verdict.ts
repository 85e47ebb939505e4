/** The part of schemathesis' report (`--report json`) that is read here. */
export type FuzzReport = {
  failures: { title: string; operations: string[] }[];
  errors: { title: string }[];
  test_cases: { generated: number };
};

/** `cases` is the number of requests that were sent. */
export type Verdict =
  | { kind: 'clean'; cases: number }
  | { kind: 'faults' | 'broken'; what: string[] };

/** The error of a server that does not answer in time, which is the server's fault. Every other error is the tool's. */
const NO_ANSWER = 'Network Error';

/**
 * Returns how a run of the fuzzer ended: nothing found, faults found, or the tool itself broke and proved nothing. A
 * run without a report broke.
 */
export function verdictOf(exitCode: number, report: FuzzReport | undefined): Verdict {
  if (report === undefined)
    return { kind: 'broken', what: [`ended with ${exitCode} and without a report`] };
  const silent = report.errors.filter(({ title }) => title === NO_ANSWER).map(({ title }) => title);
  const faults = [
    ...report.failures.map(({ title, operations }) => `${title} (${operations.join(', ')})`),
    ...silent,
  ];
  if (faults.length > 0) return { kind: 'faults', what: faults };
  if (exitCode === 0) return { kind: 'clean', cases: report.test_cases.generated };
  const titles = report.errors.map(({ title }) => title);
  return { kind: 'broken', what: titles.length > 0 ? titles : [`ended with ${exitCode}`] };
}
