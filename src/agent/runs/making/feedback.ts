import { randomUUID } from 'node:crypto';
import type { Request } from '../../../http/routes/route.ts';
import type { FeedbackToken } from '../../db/runs/feedback.ts';

/** The part of a request that says under which address its client reaches this server. */
export type AskedPlace = Pick<Request, 'headers' | 'forwarded'>;

/**
 * Returns the address under which clients reach this server: the configured one, or else that of the request, which
 * behind a trusted proxy is the one that the proxy names. Who chooses the host chooses where feedback on a run goes.
 */
export function buildAddressResolver({
  publicUrl,
  prefix,
}: {
  publicUrl: string | undefined;
  prefix: string;
}): (request: AskedPlace) => string {
  return ({ headers, forwarded }) => {
    if (publicUrl !== undefined) return publicUrl.replace(/\/$/, '');
    const {
      protocol = 'http',
      host = headers.host ?? 'localhost',
      prefix: stripped = '',
    } = forwarded;
    return `${protocol}://${host}${stripped}${prefix}`;
  };
}

/** Makes one token that can't be guessed for each of the keys. */
export function createFeedbackTokens(keys: string[] | null, address: string): FeedbackToken[] {
  return [...new Set(keys)].map((key) => {
    const token = randomUUID();
    return { token, key, url: `${address}/feedback/tokens/${token}` };
  });
}
