import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { EventSchema } from '@ag-ui/core/schemas';

/* What tests of AG-UI share: requests by hand, and the events of their answers. */

export type Event = { type: string; [field: string]: unknown };

export const newInput = (text: string, more: object = {}): object => ({
  threadId: randomUUID(),
  runId: randomUUID(),
  protocolVersion: '1.0',
  messages: [{ id: randomUUID(), role: 'user', content: text }],
  tools: [],
  context: [],
  ...more,
});

/** Posts a body and returns the answer as it came. */
export const post = (
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });

/** Returns the events of a stream. Throws for a frame or a field that the protocol does not have. */
export function readEvents(text: string): Event[] {
  if (text.includes('\r')) throw new Error('The stream has a carriage return.');
  return text
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      const data = frame.split('\n').find((line) => line.startsWith('data: '));
      const event = JSON.parse(data!.slice('data: '.length)) as Event;
      const known = EventSchema.parse(event);
      if (!isDeepStrictEqual(known, event))
        throw new Error(`Of ${JSON.stringify(event)} the protocol has ${JSON.stringify(known)}.`);
      return event;
    });
}

/** Posts a body and returns the events of the answer. */
export async function eventsOf(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Event[]> {
  const answer = await post(url, body, headers);
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${answer.status} ${text}`);
  return readEvents(text);
}

export const typesOf = (events: Event[]): string[] =>
  events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);

/** Returns the text of a message's content. */
export const readText = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : (content as { text?: string }[]).map(({ text = '' }) => text).join('');
