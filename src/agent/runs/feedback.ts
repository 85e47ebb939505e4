import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FeedbackToken } from '../db/feedback.ts';

/**
 * Returns the address under which clients reach this server: the configured one, or else that of the request that makes
 * the run (behind a proxy, the one that the proxy forwards).
 */
export function addressOf({
  publicUrl,
  prefix,
}: {
  publicUrl: string | undefined;
  prefix: string;
}): (headers: IncomingHttpHeaders) => string {
  return (headers) => {
    if (publicUrl !== undefined) return publicUrl.replace(/\/$/, '');
    const first = (name: string): string | undefined => [headers[name]].flat()[0]?.split(',')[0]?.trim();
    return `${first('x-forwarded-proto') ?? 'http'}://${first('x-forwarded-host') ?? headers.host ?? 'localhost'}${prefix}`;
  };
}

/** Makes one token that can't be guessed for each of the keys. */
export function feedbackTokens(keys: string[] | null, address: string): FeedbackToken[] {
  return [...new Set(keys)].map((key) => {
    const token = randomUUID();
    return { token, key, url: `${address}/feedback/tokens/${token}` };
  });
}
