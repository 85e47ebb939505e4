import { NotFound } from '../../../errors.ts';
import { parseJsonText, type JsonText } from '../../../schema/wire/wall/json-text.ts';
import { loadFeedbackUrls } from '../../db/runs/feedback.ts';
import type { Db } from '../../db/base/pool.ts';
import { runProgress } from '../../db/runs/runs.ts';
import { getThread } from '../../db/threads/threads.ts';
import type { RunResult } from '../../stream/bus.ts';
import type { Json } from '../../../schema/json.ts';

/**
 * Returns, as JSON, the answer to clients at the end of a run: the final state of its thread with the interrupts that
 * it waits for (`__interrupt__`) and the addresses for feedback (`__feedback__`), or its error (`__error__`). `result`
 * is the outcome in this process; without it, the rows are read.
 */
export async function loadFinalState(
  db: Db,
  { run_id, thread_id }: { run_id: string; thread_id: string },
  result: RunResult | undefined,
): Promise<JsonText> {
  if (result?.error !== undefined) return JSON.stringify({ __error__: result.error });
  if (result?.values !== undefined)
    return addNotes(result.values, JSON.parse(result.interrupts ?? '{}') as Json, result.feedback);
  const progress = await runProgress(db, run_id);
  if (progress?.error) return JSON.stringify({ __error__: progress.error });
  const thread = await getThread(db, thread_id);
  return addNotes(
    JSON.stringify(thread?.values ?? {}),
    thread?.interrupts ?? {},
    await loadFeedbackUrls(db, run_id),
  );
}

/**
 * Returns the answer at the end of a run that ended before it was asked about. Throws `NotFound` where the run is gone:
 * one on a thread of its own takes the thread along, and a state without its thread would look empty.
 */
export async function loadEndedState(
  db: Db,
  run: { run_id: string; thread_id: string },
): Promise<JsonText> {
  const state = await loadFinalState(db, run, undefined);
  if ((await runProgress(db, run.run_id)) === undefined)
    throw new NotFound(`Run with ID ${run.run_id} not found`);
  return state;
}

/** Adds the notes to a state. A state without any, which may be long, stays as it was written. */
function addNotes(
  values: JsonText,
  interrupts: Json,
  feedback: Record<string, string> = {},
): JsonText {
  const waiting = Object.values(interrupts).flat();
  const notes = {
    ...(waiting.length > 0 && { __interrupt__: waiting }),
    ...(Object.keys(feedback).length > 0 && { __feedback__: feedback }),
  };
  return Object.keys(notes).length === 0
    ? values
    : JSON.stringify({ ...(parseJsonText(values) as Json), ...notes });
}
