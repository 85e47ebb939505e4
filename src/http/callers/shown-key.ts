import type { IncomingHttpHeaders } from 'node:http';

/** The subprotocol by which a page of a browser sends a key, because it can't set headers of a WebSocket. */
export const KEY_PROTOCOL = 'gx.key.';

/** The credential of a request: a key, or a token that may also be a key. */
export type ShownKey = { from: 'X-Api-Key' | 'Authorization'; text: string };

/** Returns the credential in the headers. A key in `X-Api-Key` wins: proxies add an Authorization of their own. */
export function readCredential(headers: IncomingHttpHeaders): ShownKey | undefined {
  const key = [headers['x-api-key']].flat()[0]?.trim();
  if (key !== undefined && key !== '') return { from: 'X-Api-Key', text: key };
  const token = /^Bearer +([\w.~+/=-]+) *$/i.exec(headers.authorization ?? '')?.[1];
  return token === undefined ? undefined : { from: 'Authorization', text: token };
}

/** Returns the headers of a WebSocket's request, with the key that one of its subprotocols carries as a header. */
export function mergeSocketKey(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  if (headers['x-api-key'] !== undefined) return headers;
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  const carrier = offered.find((name) => name.startsWith(KEY_PROTOCOL));
  if (carrier === undefined) return headers;
  const key = Buffer.from(carrier.slice(KEY_PROTOCOL.length), 'base64url').toString('utf8');
  // A header can't hold other characters, and no key has them.
  return /^[\x21-\x7e]+$/.test(key) ? { ...headers, 'x-api-key': key } : headers;
}
