import {
  RUN_DONE,
  type StreamMode,
  type ThreadStreamMode,
} from '../../schema/agent/stream-event.ts';
import { isProtocolEvent } from './event-name.ts';

/**
 * The events that a reader asked for: their kinds, and the namespaces of graphs as event names carry them
 * (`sub:<task id>|...`; `""` is the root).
 */
export type WantedEvents = {
  modes: StreamMode[] | undefined;
  namespaces: string[] | undefined;
  /** Set for the events of protocol v2 in place of all others. */
  protocol?: true;
};

/**
 * Tells whether a reader asked for the event. Its mode stands before the first pipe of its name, its namespace after
 * it. Events about the run itself always go out.
 */
export function isWanted(event: string, { modes, namespaces, protocol }: WantedEvents): boolean {
  if (protocol === true) return isProtocolEvent(event);
  const [name = '', ...namespace] = event.split('|');
  if (name === RUN_DONE || isProtocolEvent(event)) return false;
  if (['metadata', 'error', 'feedback'].includes(name)) return true;
  if (namespaces !== undefined && !namespaces.includes(namespace.join('|'))) return false;
  if (modes === undefined) return true;
  if (name.startsWith('messages/')) return modes.includes('messages');
  return modes.includes(name === 'messages' ? 'messages-tuple' : (name as StreamMode));
}

/** Returns the name of an event in a stream of the whole thread; undefined when it was not asked for. */
export function toThreadEventName(event: string, modes: ThreadStreamMode[]): string | undefined {
  if (isProtocolEvent(event)) return undefined;
  if (event === RUN_DONE)
    return modes.includes('lifecycle') || modes.includes('run_modes') ? 'metadata' : undefined;
  if (event === 'state_update') return modes.includes('state_update') ? event : undefined;
  if (event === 'metadata' && modes.includes('lifecycle')) return event;
  return modes.includes('run_modes') ? event : undefined;
}
