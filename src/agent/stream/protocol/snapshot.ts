import type { Thread } from '../../../schema/agent/thread.ts';
import type { ThreadEvent } from '../../../schema/agent/stream-event.ts';
import { buildEventName } from '../event-name.ts';
import { toStateForm } from './state-form.ts';

/* A reader that comes too late for the events themselves gets where the thread stands. */

const STATUS: Record<string, string> = {
  busy: 'running',
  interrupted: 'interrupted',
  error: 'failed',
  idle: 'completed',
};

/**
 * Returns one `values` and one `lifecycle`, under the two numbers up to `last`. They keep their ids as long as the
 * thread rests.
 */
export function buildThreadSnapshot(thread: Thread, last: number): ThreadEvent[] {
  const ms = Date.parse(thread.state_updated_at);
  const buildEvent = (method: string, data: unknown, thread_seq: number): ThreadEvent => ({
    ms,
    seq: 0,
    thread_seq,
    event: buildEventName({ method, namespace: [] }),
    json: JSON.stringify({ namespace: [], timestamp: ms, data }),
  });
  const graph_name = thread.metadata['graph_id'];
  return [
    buildEvent('values', toStateForm(thread.values ?? {}), last - 1),
    buildEvent(
      'lifecycle',
      {
        event: STATUS[thread.status] ?? 'completed',
        ...(graph_name !== undefined && { graph_name }),
      },
      last,
    ),
  ];
}
