import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Forbidden, Unauthorized, Unavailable } from '../../errors.ts';
import type { Route } from '../../http/route.ts';
import type { Kube } from '../../kube/kube.ts';
import type { BearerTokens } from './bearer.ts';
import type { Identity } from './claims.ts';
import { type ApiKey, lookUpKey } from './keys.ts';
import type { Caller } from '../caller.ts';
import { refusing } from '../kube-refusal.ts';

/** A revoked key stops working within this time. */
const TRUSTED_MILLISECONDS = 10_000;
/** While the API server is away, a key that was valid before still allows reads for this long. */
const TRUSTED_IN_OUTAGE_MILLISECONDS = 600_000;
/** How many answers are remembered. Unknown keys count too, so that guessing costs the API server little. */
const REMEMBERED = 2000;

type RememberedKey = { key: ApiKey | undefined; at: number };

type AuthenticatorOptions = { kube: Kube; namespace: string; tokens?: BearerTokens | undefined; clock?: () => number };

/** Finds out who calls, by the headers of a request: an API key, or a bearer token where an issuer is configured. */
export class Authenticator {
  readonly #kube: Kube;
  readonly #namespace: string;
  readonly #tokens: BearerTokens | undefined;
  readonly #memory = new Map<string, RememberedKey>();
  readonly #clock: () => number;

  constructor({ kube, namespace, tokens, clock = () => performance.now() }: AuthenticatorOptions) {
    this.#kube = kube;
    this.#namespace = namespace;
    this.#tokens = tokens;
    this.#clock = clock;
  }

  authenticate = async (headers: IncomingHttpHeaders, access: Route['access']): Promise<Caller> => {
    if (access === 'open') return { tenantId: '', role: 'read', keyName: '' };
    const { tenants, role, name } = await this.#identityOf(headers);
    const tenantId = chosenTenant(tenants, single(headers['x-tenant-id'])?.toLowerCase());
    if (access === 'write' && role !== 'write') throw new Forbidden('This key may only read.');
    return { tenantId, role, keyName: name };
  };

  /** An API key alone decides if one is sent, because a proxy in front may add an Authorization header of its own. */
  async #identityOf(headers: IncomingHttpHeaders): Promise<Identity> {
    const given = single(headers['x-api-key']);
    if (given === undefined) return this.#identityOfToken(headers.authorization);
    const key = await this.#known(given);
    if (key === undefined) throw this.#unauthorized('The API key is not known.');
    return { tenants: [key.tenantId], role: key.role, name: key.name };
  }

  async #identityOfToken(authorization: string | undefined): Promise<Identity> {
    const token = /^Bearer +([\w.~+/=-]+) *$/i.exec(authorization ?? '')?.[1];
    if (this.#tokens === undefined)
      throw this.#unauthorized(
        token === undefined ? 'No API key: send one in X-Api-Key.' : 'Bearer tokens are not accepted here: send an API key in X-Api-Key.',
      );
    if (token === undefined) throw this.#unauthorized('No credentials: send an API key in X-Api-Key, or a token in Authorization: Bearer.');
    return this.#tokens.identify(token);
  }

  /** A 401 names the credentials that would help (RFC 9110, section 11.6.1). */
  #unauthorized(message: string): Unauthorized {
    const schemes = this.#tokens === undefined ? ['ApiKey'] : ['ApiKey', 'Bearer'];
    const challenges = schemes.map((scheme) => `${scheme} realm="gx-platform"`).join(', ');
    return new Unauthorized(message, { headers: { 'www-authenticate': challenges } });
  }

  async #known(given: string): Promise<ApiKey | undefined> {
    // The key itself is never remembered: it would be worth stealing.
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

/** The vendor's clients look for "requires workspace specification" and then ask their user for a tenant. */
function chosenTenant([only, ...others]: string[], named: string | undefined): string {
  if (named !== undefined) {
    if (![only, ...others].includes(named)) throw new Forbidden('X-Tenant-Id names a tenant that the caller does not belong to.');
    return named;
  }
  if (only === undefined || others.length > 0)
    throw new Forbidden('This token requires workspace specification: name one of its tenants in X-Tenant-Id.');
  return only;
}

const single = (value: string | string[] | undefined): string | undefined => {
  const text = Array.isArray(value) ? value[0] : value;
  return text === undefined || text === '' ? undefined : text;
};
