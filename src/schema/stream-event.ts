/** What a client may ask a run's stream for. */
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

/** Marks a run's end for those who follow its thread; a run's own stream ends by closing. */
export const RUN_DONE = 'run_done';

/** What a stream of a whole thread may carry: all events of its runs, only their beginnings and ends, or states written by hand. */
export const THREAD_STREAM_MODES = ['run_modes', 'lifecycle', 'state_update'] as const;

export type ThreadStreamMode = (typeof THREAD_STREAM_MODES)[number];

/** Where a reader stands in a run's events: the `ms-seq` of an event id. */
export type Cursor = { ms: number; seq: number };

/** One event of a run; `json` is its data, serialised once where the graph runs. */
export type RunEvent = Cursor & { event: string; json: string };

export const eventId = ({ ms, seq }: Cursor): string => `${ms}-${seq}`;

const START: Cursor = { ms: 0, seq: 0 };

/** `Last-Event-ID` as a cursor. `-1`, `0`, `-` and older integer ids mean from the start; nothing means only what comes. */
export function parseCursor(text: string | undefined): Cursor | undefined {
  if (text === undefined || text === '') return undefined;
  const match = /^(\d+)-(\d+)$/.exec(text);
  return match === null ? START : { ms: Number(match[1]), seq: Number(match[2]) };
}

export const isAfter = (event: Cursor, cursor: Cursor): boolean =>
  event.ms > cursor.ms || (event.ms === cursor.ms && event.seq > cursor.seq);
