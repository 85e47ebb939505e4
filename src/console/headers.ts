import type { IncomingHttpHeaders } from 'node:http';

/** The parts of a request that the console itself knows. */
export type SentAlong = { key: string; source: string; requestId: string };

/** Headers of a page's request that the control plane reads. All others stay here, and with them every credential. */
const INWARDS = [
  'accept',
  'accept-language',
  'content-length',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-none-match',
  'last-event-id',
  'transfer-encoding',
  'user-agent',
  'x-tenant-id',
];

/** Headers of an answer that a page may see. */
const OUTWARDS = [
  'allow',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'etag',
  'last-modified',
  'retry-after',
  'x-accel-buffering',
];

const VIA = '1.1 gx-console';

/** Returns the headers with which a request goes on to the control plane. */
export function buildInwardHeaders(
  given: IncomingHttpHeaders,
  { key, source, requestId }: SentAlong,
): Record<string, string> {
  return {
    ...pickHeaders(given, INWARDS),
    'x-api-key': key,
    'x-request-id': requestId,
    ...(source !== 'unknown' && { 'x-forwarded-for': source }),
    via: VIA,
  };
}

/** Returns the headers with which an answer of the control plane goes on to the page. */
export const buildOutwardHeaders = (given: IncomingHttpHeaders): Record<string, string> =>
  pickHeaders(given, OUTWARDS);

/** Headers of a page's request that an agent reads. */
const TO_AGENTS = [
  'accept',
  'accept-language',
  'content-length',
  'content-type',
  'idempotency-key',
  'if-match',
  'last-event-id',
  'transfer-encoding',
  'x-gx-revision',
];

/** Returns the headers with which a request goes on to an agent: with a pass in place of every other credential. */
export const buildAgentHeaders = (
  given: IncomingHttpHeaders,
  { pass, requestId }: { pass: string; requestId: string },
) => ({
  ...pickHeaders(given, TO_AGENTS),
  authorization: `Bearer ${pass}`,
  // Nobody unpacks answers of agents, so that a small one is no large one.
  'accept-encoding': 'identity',
  'x-request-id': requestId,
  via: VIA,
});

/** Headers of an agent's answer that a page may see, besides its type. */
const FROM_AGENTS = [
  'content-length',
  'content-location',
  'retry-after',
  'x-pagination-cursor',
  'x-pagination-next',
  'x-pagination-total',
];

/** Types that a page reads. All others are bytes to keep: a browser that opens one shows nothing of it. */
const READ_TYPES = ['application/json', 'text/event-stream', 'text/plain'];

/**
 * Returns the headers with which an agent's answer goes on to the page. The agent chooses none of them freely: its code
 * is somebody else's, and a browser would act on them in the name of the page.
 */
export function filterAgentHeaders(given: IncomingHttpHeaders): Record<string, string> {
  const type = (given['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  const isRead = READ_TYPES.includes(type);
  return {
    ...pickHeaders(given, FROM_AGENTS),
    'content-type': isRead ? `${type}; charset=utf-8` : 'application/octet-stream',
    ...(!isRead && { 'content-disposition': 'attachment' }),
    ...(type === EVENTS && { 'x-accel-buffering': 'no' }),
  };
}

const EVENTS = 'text/event-stream';

/** Returns whether an answer is a stream of events, which may go on for long. */
export const isEvents = (headers: Record<string, string>): boolean =>
  headers['content-type']?.startsWith(EVENTS) === true;

const pickHeaders = (given: IncomingHttpHeaders, names: string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = given[name];
      return value === undefined ? [] : [[name, String(value)]];
    }),
  );

/** Statuses by which an answer sends its client elsewhere. */
export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

/** Returns whether a request brings a body. */
export const hasBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
