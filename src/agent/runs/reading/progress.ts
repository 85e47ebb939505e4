import type { SseEvent } from '../../../http/routes/route.ts';
import { type Json, isComposite } from '../../../schema/json.ts';

/** Returns the progress that an event of a run reports, in words; undefined where it reports none. */
export function describeProgress(event: SseEvent): string | undefined {
  if (event.event === 'metadata') return 'started';
  if (event.event !== 'updates' && event.event !== 'custom') return undefined;
  const data = 'json' in event ? (JSON.parse(event.json) as unknown) : event.data;
  if (event.event === 'custom') return pickMessage(data);
  const nodes = Object.keys((data ?? {}) as Json).filter((node) => !node.startsWith('__'));
  return nodes.length === 0 ? undefined : nodes.join(', ');
}

/** Returns the graph's own words: a text, or the `message` of an object. */
function pickMessage(data: unknown): string | undefined {
  const words = isComposite(data) ? data['message'] : data;
  return typeof words === 'string' ? words : undefined;
}
