import type { ThreadEvent } from '../../../schema/agent/stream-event.ts';

/* Protocol events, in the form in which clients get them. */

/**
 * Returns the id of an event, which is stable because both parts are stored with the event. A number that is given
 * twice, because the first event was lost, has another time.
 */
export const buildProtocolEventId = ({
  ms,
  thread_seq,
}: {
  ms: number;
  thread_seq: number | null;
}): string => `${ms}-${thread_seq}`;

/** Returns an event of the method as one line of JSON. */
export function formatProtocolEvent(event: ThreadEvent, method: string): string {
  return `{"type":"event","event_id":"${buildProtocolEventId(event)}","seq":${event.thread_seq},"method":"${method}","params":${event.json}}`;
}

/** Reads a number, or an event id, that a client says it has seen last; returns undefined when it is neither. */
export function parseProtocolSeq(text: string): number | undefined {
  const match = /^(?:\d+-)?(\d{1,15})$/.exec(text);
  return match === null ? undefined : Number(match[1]);
}
