/** A run of a thread, as far as a test can repeat it. `sent` has the JSON of each field of its call. */
export type CasedRun = { madeAt: string; assistant: string; sent: Record<string, string> };

/** A thread up to a checkpoint. `state` is the JSON of its values there, in pieces. */
export type CasedThread = {
  graph: string;
  thread: string;
  checkpoint: string;
  madeAt: string;
  runs: readonly CasedRun[];
  state: readonly string[];
};

/**
 * Returns the parts of a JSON text by which a test repeats a thread: the calls of its runs up to a checkpoint, the
 * oldest first, and the state to expect. Values stand there as the agent sent them, so that large ones are not parsed.
 */
export function testCaseText({
  graph,
  thread,
  checkpoint,
  madeAt,
  runs,
  state,
}: CasedThread): string[] {
  const known = runs
    .filter((one) => Date.parse(one.madeAt) <= Date.parse(madeAt))
    .toSorted((one, other) => Date.parse(one.madeAt) - Date.parse(other.madeAt));
  const texts = known.map(({ assistant, sent }) => {
    const fields = Object.entries({ assistant_id: JSON.stringify(assistant), ...sent });
    return `{${fields.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
  });
  const names = JSON.stringify({ graph_id: graph, thread_id: thread, checkpoint_id: checkpoint });
  return [names.slice(0, -1), ',"runs":[', texts.join(','), '],"state":', ...state, '}\n'];
}
