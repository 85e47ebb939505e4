import type { Codec } from '../../encryption/codec.ts';
import type { RunKwargs } from '../../../schema/agent/run.ts';
import { openRows, SEALED_TEXT, type Place } from '../../encryption/codec.ts';

/* This file knows which fields of runs are encrypted. */

/** A thread shows the error of its last run, so that an error is its thread's. */
export const runErrorPlace = (thread_id: string): Place => ({ kind: 'run.error', of: thread_id });

export const runKwargsPlace = (run_id: string): Place => ({ kind: 'run.kwargs', of: run_id });

/** Returns the column of kwargs. Claims ask in SQL whether a run publishes protocol events, so that can be seen. */
export const buildKwargsColumn = ({ protocol }: RunKwargs, sealed: string): string =>
  protocol === true && (sealed.startsWith(SEALED_TEXT) || !sealed.includes('"protocol"'))
    ? `{"protocol":true,${sealed.slice(1)}`
    : sealed;

/** Opens rows of runs. Those with an error have the thread's id. */
export const openRuns = <
  R extends {
    run_id: string;
    thread_id?: string;
    kwargs?: unknown;
    metadata?: unknown;
    error?: unknown;
  },
>(
  { codec }: { codec: Codec },
  rows: R[],
): Promise<R[]> =>
  openRows<R>(codec, rows, {
    kwargs: ({ run_id }) => runKwargsPlace(run_id),
    metadata: 'named',
    error: ({ thread_id }) => runErrorPlace(thread_id!),
  });
