import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FeedbackToken } from '../db/runs/feedback.ts';

/**
 * Returns the address under which clients reach this server: the configured one, or else that of the request that makes
 * the run (behind a proxy, the one that the proxy forwards, if the configuration trusts it). A protocol is
 * harmless, but the one who chooses the host chooses where feedback on a run goes.
 */
export function addressOf({
  publicUrl,
  trustForwardedHost,
  prefix,
}: {
  publicUrl: string | undefined;
  trustForwardedHost: boolean;
  prefix: string;
}): (headers: IncomingHttpHeaders) => string {
  return (headers) => {
    if (publicUrl !== undefined) return publicUrl.replace(/\/$/, '');
    const first = (name: string): string | undefined => [headers[name]].flat()[0]?.split(',')[0]?.trim();
    const protocol = first('x-forwarded-proto') === 'https' ? 'https' : 'http';
    const forwarded = trustForwardedHost ? first('x-forwarded-host') : undefined;
    return `${protocol}://${forwarded ?? headers.host ?? 'localhost'}${prefix}`;
  };
}

/** Makes one token that can't be guessed for each of the keys. */
export function feedbackTokens(keys: string[] | null, address: string): FeedbackToken[] {
  return [...new Set(keys)].map((key) => {
    const token = randomUUID();
    return { token, key, url: `${address}/feedback/tokens/${token}` };
  });
}
