import type { RunStatus } from '../../../schema/run.ts';
import { eventName } from './event-name.ts';

/* What is told of a run as a whole, by who writes its end down. */

type RootStatus = 'completed' | 'failed' | 'interrupted';

type RunEnd = { status: RunStatus; rest: 'idle' | 'interrupted' | 'error'; error: { message: string } | null };

/** A run that stopped to wait has ended well, and is interrupted to those who follow it. */
export function rootStatus({ status, rest }: Pick<RunEnd, 'status' | 'rest'>): RootStatus {
  if (status === 'error' || status === 'timeout') return 'failed';
  return status === 'success' && rest !== 'interrupted' ? 'completed' : 'interrupted';
}

/** The last protocol event of a run, with its data as JSON text. */
export function rootLifecycle(
  event: RootStatus,
  { graph_id, error }: { graph_id: string; error?: { message: string } | null },
): [string, string] {
  const data = { event, graph_name: graph_id, ...(error && { error: error.message }) };
  return [eventName({ method: 'lifecycle', namespace: [] }), JSON.stringify({ namespace: [], timestamp: Date.now(), data })];
}

/** The same, of a run that ended by itself or was stopped. */
export const rootLifecycleOf = (graph_id: string, end: RunEnd): [string, string] =>
  rootLifecycle(rootStatus(end), { graph_id, error: end.error });
