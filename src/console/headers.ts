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
export function headersInwards(given: IncomingHttpHeaders, { key, source, requestId }: SentAlong): Record<string, string> {
  return {
    ...picked(given, INWARDS),
    'x-api-key': key,
    'x-request-id': requestId,
    ...(source !== 'unknown' && { 'x-forwarded-for': source }),
    via: VIA,
  };
}

/** Returns the headers with which an answer of the control plane goes on to the page. */
export const headersOutwards = (given: IncomingHttpHeaders): Record<string, string> => picked(given, OUTWARDS);

const picked = (given: IncomingHttpHeaders, names: string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = given[name];
      return value === undefined ? [] : [[name, String(value)]];
    }),
  );

/** Statuses by which an answer sends its client elsewhere. */
export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

/** Returns whether a request brings a body. */
export const bringsBody = (headers: IncomingHttpHeaders): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
