import type { Cursor } from '../../schema/stream-event.ts';
import type { Claimed } from '../db/leases.ts';
import type { Outcome } from '../threads/protocol.ts';
import type { Early } from './early.ts';
import type { StopReason } from './status.ts';

/** A run under way in this process. */
export type Active = {
  run: Claimed;
  startedAt: number;
  at: Cursor;
  /** Other processes that read it, or its thread. */
  readers: Set<string>;
  stopped: StopReason | undefined;
  /** Stops it when its time is over. */
  timeout?: NodeJS.Timeout;
  /** Ends the thread of a graph that was told to stop, and does not. */
  obey?: NodeJS.Timeout | undefined;
  /** Its thread ended under it, so that nobody told where it stands: by itself, or for another run's sake. */
  gone?: 'killed' | 'crashed';
  /** Its database went away. */
  retry: boolean;
  /** Its last events have been said: once, however often the end has to be written. */
  last?: { feedback: Outcome['feedback'] };
};

/** A run that begins, with what was said of it before: in its former life, or while its claim was answered. `self`: this process. */
export function beginning(run: Claimed, early: Early, self: string): Active {
  const { stopped = run.cancel ?? undefined, readers } = early.of(run);
  const others = new Set([...run.readers, ...readers]);
  others.delete(self);
  return { run, startedAt: Date.now(), at: { ms: 0, seq: 0 }, readers: others, stopped, retry: false };
}
