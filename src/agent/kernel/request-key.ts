import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Invalid } from '../../errors.ts';
import { KEY_FORM } from '../../schema/agent/request-key.ts';
import { formatCanonicalJson } from '../../schema/canonical-json.ts';

/*
 * A request may have a key, by which a repetition of it is known. The database holds hashes alone: its reader finds
 * neither keys nor, without the key, the content of a request.
 */

/** `key` identifies the request; `request` is its content. Both are hashes of 32 bytes. */
export type RequestKey = { key: Buffer; request: Buffer };

/** Where a key counts: for one caller, on one route, and on one thread where the route has one. */
type KeyScope = { identity: string; route: string; threadId?: string | undefined };

const HEADER = 'Idempotency-Key';
const FORM = new RegExp(KEY_FORM.pattern);

const refuse = (msg: string, type: string): never => {
  throw new Invalid([{ loc: ['header', HEADER], msg, type }]);
};

/** Throws `Invalid` for a key that came with another request before. */
export const refuseReused = (): never =>
  refuse('was used for another request', 'idempotency_key_reused');

/** Throws `Invalid` for a key whose request is several. */
export const refuseSeveral = (): never =>
  refuse('belongs to one call, and this request has several', 'value_error');

const hashParts = (parts: unknown): Buffer => hash('sha256', formatCanonicalJson(parts), 'buffer');

/** Throws `Invalid` for a key of another form, also where the request makes nothing that it would count for. */
export function requireKeyForm(headers: IncomingHttpHeaders): void {
  const given = headers['idempotency-key'];
  if (given !== undefined && !FORM.test(String(given)))
    refuse('must be 1 to 255 visible ASCII characters', 'string_pattern_mismatch');
}

/**
 * Returns the key that a request has in its header; undefined without one. `asks` is the content of the request, as
 * JSON. Throws `Invalid` for a key of another form.
 */
export function readIdempotencyKey(
  headers: IncomingHttpHeaders,
  scope: KeyScope,
  asks: unknown,
): RequestKey | undefined {
  requireKeyForm(headers);
  const given = headers['idempotency-key'];
  if (given === undefined) return undefined;
  const key = String(given);
  return {
    key: hashParts([scope.identity, scope.route, scope.threadId ?? null, key]),
    request: hashParts([key, asks]),
  };
}

/** Returns the key of a request that is known by all that it says. */
export function buildContentKey({ identity, route }: KeyScope, content: unknown): RequestKey {
  const key = hashParts([identity, route, content]);
  return { key, request: key };
}
