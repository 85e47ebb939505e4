import type { IncomingHttpHeaders } from 'node:http';
import type { KeyLimits } from '../../config/platform/control-plane.ts';
import { Unauthorized } from '../../errors.ts';
import { deriveNetwork } from '../../http/outgoing/addresses.ts';
import { Places, Rate } from '../../http/limits/quota.ts';
import type { Route } from '../../http/routes/route.ts';
import { FOR_DEPLOYMENT } from '../../schema/wire/auth-check.ts';
import type { Caller } from '../caller.ts';
import type { Authenticator } from './authenticate.ts';

const GUESSING =
  'Too many requests without valid credentials have come from this address; try again later.';

/** At how many deployments behind one address, such as the gateway's, all may be tried that may be at each. */
const BEHIND_ONE_ADDRESS = 50;

/**
 * Returns an authentication that bounds how many credentials an address may try in vain. Credentials that are known to
 * be valid always pass, and keys that were made here count for themselves, because good and bad callers may share a
 * proxy's address. Requests of agents count for their deployment, because the gateway asks for many: keys that are
 * forged at one of them take nothing from the others.
 */
export function limitFailures(
  authenticator: Authenticator,
  /** Returns true if there is a deployment with this id. */
  isDeployment: (id: string) => boolean,
  perMinute: number,
  failed: (error: unknown) => void,
): (headers: IncomingHttpHeaders, access: Route['access'], source: string) => Promise<Caller> {
  const failures = new Rate({ perMinute, message: GUESSING });
  const ofAll = new Rate({ perMinute: perMinute * BEHIND_ONE_ADDRESS, message: GUESSING });
  return async (headers, access, source) => {
    const recordFailure = (error: unknown): never => {
      failed(error);
      throw error;
    };
    // A key that is known may have expired meanwhile.
    if (access === 'open' || authenticator.hasKnownKey(headers))
      return authenticator.identify(headers, access).catch(recordFailure);
    const made = await authenticator.findMadeKey(headers);
    const id = [headers[FOR_DEPLOYMENT]].flat()[0]?.toLowerCase();
    const network = deriveNetwork(source);
    // A key that was made here counts for itself alone, so that nobody's forged keys keep it out.
    const name =
      made !== undefined
        ? `key ${made}`
        : id !== undefined && isDeployment(id)
          ? `${network} ${id}`
          : network;
    const all = made !== undefined ? name : network;
    // A failure is assumed until the opposite is shown, because thousands may be under way at a time.
    failures.take(name);
    ofAll.take(all);
    const giveBack = (): void => {
      failures.giveBack(name);
      ofAll.giveBack(all);
    };
    try {
      const caller = await authenticator.identify(headers, access);
      giveBack();
      return caller;
    } catch (error) {
      if (!(error instanceof Unauthorized)) giveBack();
      return recordFailure(error);
    }
  };
}

/**
 * Returns a function that takes a place for a stream of a caller's key and tenant, and returns the function that gives
 * it back.
 */
export function streamPlaces(
  { streamsPerKey, streamsPerTenant }: KeyLimits,
  opened: () => () => void,
): (caller: Caller) => () => void {
  const places = new Places();
  return ({ tenantId, keyName }) => {
    const leave = places.enter([
      {
        name: `key ${tenantId} ${keyName}`,
        most: streamsPerKey,
        message: `This key has ${streamsPerKey} streams open; close one first.`,
      },
      {
        name: `tenant ${tenantId}`,
        most: streamsPerTenant,
        message: `This tenant has ${streamsPerTenant} streams open; close one first.`,
      },
    ]);
    const closed = opened();
    return () => {
      leave();
      closed();
    };
  };
}
