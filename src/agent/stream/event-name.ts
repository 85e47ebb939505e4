/*
 * This file names a protocol event in a run's stream by its method and by where it happened. Readers filter by the name
 * alone, without the data.
 */

/** Marks events of protocol v2 among a run's events. */
const MARK = 'v2:';

/** The place of an event; `name` is that of a custom event that has one. */
export type EventPlace = { method: string; name?: string | undefined; namespace: string[] };

export const isProtocolEvent = (event: string): boolean => event.startsWith(MARK);

/** Returns whether an event, by its name, is a question. */
export const isInputRequest = (event: string): boolean =>
  event.startsWith(`${MARK}input.requested`);

/** Returns the name of an event. Segments of namespaces hold no pipe, because LangGraph joins them with it. */
export function buildEventName({ method, name, namespace }: EventPlace): string {
  const head = name === undefined ? method : `${method}:${encodeURIComponent(name)}`;
  return MARK + [head, ...namespace].join('|');
}

export function parseEventName(event: string): EventPlace {
  const [head = '', ...namespace] = event.slice(MARK.length).split('|');
  const at = head.indexOf(':');
  if (at === -1) return { method: head, namespace };
  return { method: head.slice(0, at), name: decodeURIComponent(head.slice(at + 1)), namespace };
}
