import type { RunStatus } from '../../schema/run.ts';
import type { Failure, Outcome } from '../threads/protocol.ts';

/** Why a run was told to stop. */
export type StopReason = 'interrupt' | 'rollback' | 'timeout' | 'shutdown' | 'lost';

/** How a run ends: written down, deleted with what it did, given back, or none of our business any more. */
export type End =
  | { kind: 'finish'; status: RunStatus; error: Failure | null; rest: 'idle' | 'interrupted' | 'error' }
  | { kind: 'delete' }
  | { kind: 'hand-back' }
  | { kind: 'forget' };

/** The end of a run from what its graph says and what it was told (pure). A graph that finished first has finished. */
export function endOf(outcome: Outcome, stopped: StopReason | undefined, timeoutSeconds: number): End {
  if (stopped === 'lost') return { kind: 'forget' };
  if (stopped === 'rollback') return { kind: 'delete' };
  if (outcome.status === 'error') return failed(outcome.error ?? { error: 'Error', message: 'The graph failed without a reason.' });
  if (outcome.status === 'success')
    return { kind: 'finish', status: 'success', error: null, rest: outcome.waiting ? 'interrupted' : 'idle' };
  if (stopped === 'shutdown' || outcome.retry === true) return { kind: 'hand-back' };
  if (stopped === 'timeout') return failed({ error: 'TimeoutError', message: `The run took longer than ${timeoutSeconds} seconds.` });
  return { kind: 'finish', status: 'interrupted', error: null, rest: outcome.waiting ? 'interrupted' : 'idle' };
}

/** The end of a run whose result the database does not take (larger than a field can be): another attempt would end alike. */
export const refusedEnd = (reason: Error): Extract<End, { kind: 'finish' }> & { error: Failure } => {
  const error = { error: 'ResultNotStored', message: `The database refused the result of the run: ${reason.message}.` };
  return { kind: 'finish', status: 'error', error, rest: 'error' };
};

const failed = (error: Failure): End => ({ kind: 'finish', status: 'error', error, rest: 'error' });

export const isUnfinished = (status: RunStatus): boolean => status === 'pending' || status === 'running';
