import type { RunStatus } from '../../../schema/agent/run.ts';
import { buildEventName } from '../event-name.ts';

/* This file makes the lifecycle events of a run as a whole, for the process that writes its end down. */

type RootStatus = 'completed' | 'failed' | 'interrupted';

type RunEnd = {
  status: RunStatus;
  rest: 'idle' | 'interrupted' | 'error';
  error: { message: string } | null;
};

/** Returns the status that followers see. A run that stopped to wait has ended well, but is interrupted to them. */
export function toRootStatus({ status, rest }: RunEnd): RootStatus {
  if (status === 'error') return 'failed';
  return status === 'success' && rest !== 'interrupted' ? 'completed' : 'interrupted';
}

/** Returns the last protocol event of a run, with its data as JSON text. */
export function buildRootLifecycle(
  event: RootStatus,
  { graph_id, error }: { graph_id: string; error?: { message: string } | null },
): [string, string] {
  const data = { event, graph_name: graph_id, ...(error && { error: error.message }) };
  return [
    buildEventName({ method: 'lifecycle', namespace: [] }),
    JSON.stringify({ namespace: [], timestamp: Date.now(), data }),
  ];
}

/** Returns the same for a run that ended by itself or was stopped. */
export const buildEndLifecycle = (graph_id: string, end: RunEnd): [string, string] =>
  buildRootLifecycle(toRootStatus(end), { graph_id, error: end.error });
