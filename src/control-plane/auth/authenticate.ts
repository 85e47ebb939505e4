import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Forbidden, Unauthorized, Unavailable } from '../../errors.ts';
import type { Route } from '../../http/route.ts';
import type { Kube } from '../../kube/kube.ts';
import { refusing } from '../kube-refusal.ts';
import type { Caller } from '../needs.ts';
import { lookUpKey, type ApiKey } from './keys.ts';

/** A revoked key stops to work within this time. */
const TRUSTED_MILLISECONDS = 10_000;
/** While the API server is away, a key that was good a moment ago goes on for reading. */
const TRUSTED_IN_OUTAGE_MILLISECONDS = 600_000;
/** Answers remembered; unknown keys count too, so that guessing costs the API server little. */
const REMEMBERED = 2000;

type Memory = { key: ApiKey | undefined; at: number };

/** Tells who calls, from the headers of a request. */
export class Gate {
  readonly #kube: Kube;
  readonly #namespace: string;
  readonly #memory = new Map<string, Memory>();
  readonly #clock: () => number;

  constructor(options: { kube: Kube; namespace: string; clock?: () => number }) {
    this.#kube = options.kube;
    this.#namespace = options.namespace;
    this.#clock = options.clock ?? (() => performance.now());
  }

  authenticate = async (headers: IncomingHttpHeaders, access: Route['access']): Promise<Caller> => {
    if (access === 'open') return { tenantId: '', role: 'read', keyName: '' };
    const caller = await this.#callerOf(headers);
    const tenant = single(headers['x-tenant-id'])?.toLowerCase();
    if (tenant !== undefined && tenant !== caller.tenantId)
      throw new Forbidden('X-Tenant-Id names a tenant that this key does not belong to.');
    if (access === 'write' && caller.role !== 'write') throw new Forbidden('This key may only read.');
    return caller;
  };

  /** One scheme today. Another (a bearer token of an identity provider) is another branch here that gives a Caller. */
  async #callerOf(headers: IncomingHttpHeaders): Promise<Caller> {
    const given = single(headers['x-api-key']);
    if (given === undefined) {
      const bearer = headers.authorization !== undefined;
      throw new Unauthorized(
        bearer ? 'Bearer tokens are not accepted here: send an API key in X-Api-Key.' : 'No API key: send one in X-Api-Key.',
      );
    }
    const key = await this.#known(given);
    if (key === undefined) throw new Unauthorized('The API key is not known.');
    return { tenantId: key.tenantId, role: key.role, keyName: key.name };
  }

  async #known(given: string): Promise<ApiKey | undefined> {
    // Never the key itself: what is remembered would be worth stealing.
    const digest = createHash('sha256').update(given).digest('base64');
    const memory = this.#memory.get(digest);
    const age = memory === undefined ? Infinity : this.#clock() - memory.at;
    if (memory !== undefined && age < TRUSTED_MILLISECONDS) return memory.key;
    try {
      const key = await refusing(() => lookUpKey(this.#kube, this.#namespace, given));
      this.#remember(digest, key);
      return key;
    } catch (error) {
      if (error instanceof Unavailable && memory?.key !== undefined && age < TRUSTED_IN_OUTAGE_MILLISECONDS) return memory.key;
      throw error;
    }
  }

  #remember(digest: string, key: ApiKey | undefined): void {
    this.#memory.delete(digest);
    this.#memory.set(digest, { key, at: this.#clock() });
    const oldest = this.#memory.keys().next().value;
    if (this.#memory.size > REMEMBERED && oldest !== undefined) this.#memory.delete(oldest);
  }
}

const single = (value: string | string[] | undefined): string | undefined => {
  const text = Array.isArray(value) ? value[0] : value;
  return text === undefined || text === '' ? undefined : text;
};
