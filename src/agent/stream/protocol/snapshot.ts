import type { Thread } from '../../../schema/agent/thread.ts';
import type { ThreadEvent } from '../../../schema/agent/stream-event.ts';
import { eventName } from '../event-name.ts';
import { stateForm } from './state-form.ts';

/* A reader that comes too late for the events themselves gets where the thread stands. */

const STATUS: Record<string, string> = { busy: 'running', interrupted: 'interrupted', error: 'failed', idle: 'completed' };

/**
 * Returns one `values` and one `lifecycle`, under the two numbers up to `last`. They keep their ids as long as the
 * thread rests.
 */
export function snapshotOf(thread: Thread, last: number): ThreadEvent[] {
  const ms = Date.parse(thread.state_updated_at);
  const event = (method: string, data: unknown, thread_seq: number): ThreadEvent => ({
    ms,
    seq: 0,
    thread_seq,
    event: eventName({ method, namespace: [] }),
    json: JSON.stringify({ namespace: [], timestamp: ms, data }),
  });
  const graph_name = thread.metadata['graph_id'];
  return [
    event('values', stateForm(thread.values ?? {}), last - 1),
    event('lifecycle', { event: STATUS[thread.status] ?? 'completed', ...(graph_name !== undefined && { graph_name }) }, last),
  ];
}
