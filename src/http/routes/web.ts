import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { CONNECTION_HEADERS } from './connection-headers.ts';
import { answerJson, answerSlowJsonText, type Reply } from './route.ts';

/* This file lets libraries answer that speak the web's own `Request` and `Response`. */

/** A request as the server has read it; `path` matters only to the texts that the library writes. */
type Read = { method: string; path: string; headers: IncomingHttpHeaders; signal: AbortSignal };

/** Returns the request without its body, which has been read. */
export function toWebRequest({ method, path, headers, signal }: Read): Request {
  const given = Object.entries(headers).filter(([name]) => !name.startsWith(':'));
  const pairs = given.flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  return new Request(`http://localhost${path}`, { method, headers: pairs, signal });
}

/** Headers that the server writes itself. */
const OWN = new Set([...CONNECTION_HEADERS, 'content-type', 'content-length']);

/** Answers with a library's `Response`. */
export async function answerWebResponse(response: Response): Promise<Reply> {
  const { status, body } = response;
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !OWN.has(name)));
  const type = response.headers.get('content-type') ?? '';
  if (body === null) return { kind: 'empty', status, headers };
  if (type.startsWith('text/event-stream'))
    return { kind: 'chunks', status, headers, type, chunks: body };
  return { kind: 'text', status, headers, type, body: await response.text() };
}

/** Milliseconds within which a library decides how it refuses a request. */
const AT_ONCE = 50;

/**
 * Answers with the pending value as JSON, however long it takes. Blank lines keep the connection alive once
 * the time of refusals is over.
 */
export async function answerSlowly(pending: Promise<unknown>): Promise<Reply> {
  const soon = await Promise.race([pending, pause(AT_ONCE, undefined, { ref: false })]);
  return soon === undefined
    ? answerSlowJsonText(async () => JSON.stringify(await pending))
    : answerJson(soon);
}

/** Does the same with the answer that a library is making. */
export async function answerSlowResponse(pending: Promise<Response>): Promise<Reply> {
  const soon = await Promise.race([pending, pause(AT_ONCE, undefined, { ref: false })]);
  return soon === undefined
    ? answerSlowJsonText(async () => (await pending).text())
    : answerWebResponse(soon);
}
