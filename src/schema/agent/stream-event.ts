/** Modes that a client may ask a run's stream for. */
export const STREAM_MODES = [
  'values',
  'messages',
  'messages-tuple',
  'tasks',
  'checkpoints',
  'updates',
  'events',
  'debug',
  'custom',
] as const;

export type StreamMode = (typeof STREAM_MODES)[number];

/** Marks a run's end for readers of its thread. A stream of the run alone just ends. */
export const RUN_DONE = 'run_done';

/** Returns the data of that event, as JSON. */
export const runDone = (run_id: string): string => JSON.stringify({ status: RUN_DONE, run_id });

/**
 * Events that a stream of a whole thread may carry: all events of its runs, only their beginnings and ends, or states
 * written by hand.
 */
export const THREAD_STREAM_MODES = ['run_modes', 'lifecycle', 'state_update'] as const;

export type ThreadStreamMode = (typeof THREAD_STREAM_MODES)[number];

/** Where a reader stands in a run's events: the `ms-seq` of an event id. */
export type Cursor = { ms: number; seq: number };

/**
 * One event of a run; `json` is its data, serialised once where the graph runs. `thread_seq` is its number in its
 * thread, which only events of protocol v2 have.
 */
export type RunEvent = Cursor & { event: string; json: string; thread_seq?: number | null };

/** An event of protocol v2: numbered over all runs of its thread. */
export type ThreadEvent = RunEvent & { thread_seq: number };

export const formatEventId = ({ ms, seq }: Cursor): string => `${ms}-${seq}`;

/** Stands before the first event of every run. */
export const START: Cursor = { ms: 0, seq: 0 };

/** 15 digits are as many as a JavaScript number holds exactly. */
const ID = /^(\d{1,15})(?:-(\d{1,15}|\*))?$/;

/**
 * Returns an event's id as a cursor, or undefined when it is none. `-` and `-1` mean from the start. Milliseconds alone
 * mean before the first event of that millisecond.
 */
export function parseCursor(text: string): Cursor | undefined {
  if (text === '-' || text === '-1') return START;
  const match = ID.exec(text);
  if (match === null) return undefined;
  const [, ms, seq = '*'] = match;
  return { ms: Number(ms), seq: seq === '*' ? 0 : Number(seq) };
}

export const isAfter = (event: Cursor, cursor: Cursor): boolean =>
  event.ms > cursor.ms || (event.ms === cursor.ms && event.seq > cursor.seq);
