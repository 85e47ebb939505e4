import type { IncomingHttpHeaders } from 'node:http';
import type { KeyLimits } from '../../config/control-plane.ts';
import { Unauthorized } from '../../errors.ts';
import { Places, Rate } from '../../http/quota.ts';
import type { Route } from '../../http/route.ts';
import type { Caller } from '../caller.ts';
import type { Authenticator } from './authenticate.ts';

const GUESSING = 'Too many requests without valid credentials have come from this address; try again later.';

/**
 * Returns an authentication that bounds how many credentials an address may try in vain. Credentials that are known to
 * be valid always pass, because good and bad callers may share a proxy's address.
 */
export function limitingFailures(
  authenticator: Pick<Authenticator, 'identify' | 'remembers'>,
  perMinute: number,
): (headers: IncomingHttpHeaders, access: Route['access'], source: string) => Promise<Caller> {
  const failures = new Rate({ perMinute, message: GUESSING });
  return async (headers, access, source) => {
    if (access === 'open' || authenticator.remembers(headers)) return authenticator.identify(headers, access);
    // A failure is assumed until the opposite is shown, because thousands may be under way at a time.
    failures.take(source);
    try {
      const caller = await authenticator.identify(headers, access);
      failures.giveBack(source);
      return caller;
    } catch (error) {
      if (!(error instanceof Unauthorized)) failures.giveBack(source);
      throw error;
    }
  };
}

/** Returns a function that takes a place for a stream of a caller's key and tenant, and returns what gives it back. */
export function streamPlaces({ streamsPerKey, streamsPerTenant }: KeyLimits): (caller: Caller) => () => void {
  const places = new Places();
  return ({ tenantId, keyName }) =>
    places.enter([
      { name: `key ${tenantId} ${keyName}`, most: streamsPerKey, message: `This key has ${streamsPerKey} streams open; close one first.` },
      { name: `tenant ${tenantId}`, most: streamsPerTenant, message: `This tenant has ${streamsPerTenant} streams open; close one first.` },
    ]);
}
