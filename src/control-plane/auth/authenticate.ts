import type { IncomingHttpHeaders } from 'node:http';
import { Forbidden, Unauthorized } from '../../errors.ts';
import type { Route } from '../../http/routes/route.ts';
import type { Kube } from '../../kube/kube.ts';
import type { BearerTokens } from './bearer.ts';
import type { Identity } from './claims.ts';
import { isExpired } from './expiry.ts';
import { deriveKeyDigest, KnownKeys } from './known-keys.ts';
import { LastUse } from './last-use.ts';
import { type Caller, hasRole } from '../caller.ts';
import type { Log } from '../../log.ts';

/** Why credentials are refused. Those of an identity provider have one reason. */
export const LOGIN_FAILURES = [
  'NoCredentials',
  'UnknownKey',
  'ExpiredKey',
  'TokensNotAccepted',
  'TokenRefused',
] as const;
type LoginFailure = (typeof LOGIN_FAILURES)[number];

/** 401 of which metrics know the reason. */
class FailedLogin extends Unauthorized {
  readonly reason: LoginFailure;

  constructor(reason: LoginFailure, message: string, headers: Record<string, string>) {
    super(message, { headers });
    this.reason = reason;
  }
}

/** Returns why credentials were refused, or undefined if the request failed for something else. */
export function getLoginFailure(thrown: unknown): LoginFailure | undefined {
  if (thrown instanceof FailedLogin) return thrown.reason;
  return thrown instanceof Unauthorized ? 'TokenRefused' : undefined;
}

type AuthenticatorOptions = {
  /** Used for keys alone, so that other calls never keep one waiting. */
  kube: Kube;
  namespace: string;
  log: Log;
  tokens?: BearerTokens | undefined;
  clock?: () => number;
  today?: () => number;
};

const NO_CREDENTIALS =
  'No credentials: send an API key in X-Api-Key, or a token in Authorization: Bearer.';

/** Finds out who calls, by the headers of a request: an API key, or a bearer token where an issuer is configured. */
export class Authenticator {
  readonly #keys: KnownKeys;
  readonly #lastUse: LastUse;
  readonly #tokens: BearerTokens | undefined;
  readonly #today: () => number;

  constructor({
    tokens,
    clock = () => performance.now(),
    today = () => Date.now(),
    ...store
  }: AuthenticatorOptions) {
    this.#keys = new KnownKeys({ ...store, clock });
    this.#lastUse = new LastUse({ ...store, clock });
    this.#tokens = tokens;
    this.#today = today;
  }

  /** Returns who calls, if that caller may use such a route. */
  authenticate = async (headers: IncomingHttpHeaders, access: Route['access']): Promise<Caller> => {
    const caller = await this.identify(headers, access);
    permit(caller, access);
    return caller;
  };

  /** Returns who calls, whatever that caller may do. */
  identify = async (headers: IncomingHttpHeaders, access: Route['access']): Promise<Caller> => {
    if (access === 'open') return { tenantId: '', role: 'read', keyName: '' };
    const { tenants, role, name, keyId, expiresAt } = await this.#resolveIdentity(headers);
    const tenantId = chooseTenant(tenants, getSingle(headers['x-tenant-id'])?.toLowerCase());
    return { tenantId, role, keyName: name, keyId, tenants, expiresAt };
  };

  /** Returns true if the headers carry a key that was valid when it was last looked up. */
  hasKnownKey(headers: IncomingHttpHeaders): boolean {
    const given = getSingle(headers['x-api-key']);
    return given !== undefined && this.#keys.hasKey(given);
  }

  /** Returns a name of the key in the headers, if it was made here, which nobody can forge. It may be revoked. */
  async findMadeKey(headers: IncomingHttpHeaders): Promise<string | undefined> {
    const given = getSingle(headers['x-api-key']);
    return given !== undefined && (await this.#keys.isMade(given))
      ? deriveKeyDigest(given)
      : undefined;
  }

  /** An API key alone decides if one is sent, because a proxy in front may add an Authorization header of its own. */
  async #resolveIdentity(headers: IncomingHttpHeaders): Promise<Identity> {
    const given = getSingle(headers['x-api-key']);
    if (given === undefined) return this.#resolveTokenIdentity(headers.authorization);
    const key = await this.#keys.find(given);
    if (key === undefined) throw this.#buildUnauthorized('UnknownKey', 'The API key is not known.');
    if (isExpired(key, this.#today()))
      throw this.#buildUnauthorized('ExpiredKey', 'The API key has expired.');
    this.#lastUse.note(key);
    return {
      tenants: [key.tenantId],
      role: key.role,
      name: key.name,
      keyId: key.id,
      expiresAt: key.expiresAt,
    };
  }

  async #resolveTokenIdentity(authorization: string | undefined): Promise<Identity> {
    const token = /^Bearer +([\w.~+/=-]+) *$/i.exec(authorization ?? '')?.[1];
    if (this.#tokens === undefined)
      throw token === undefined
        ? this.#buildUnauthorized('NoCredentials', 'No API key: send one in X-Api-Key.')
        : this.#buildUnauthorized(
            'TokensNotAccepted',
            'Bearer tokens are not accepted here: send an API key in X-Api-Key.',
          );
    if (token === undefined) throw this.#buildUnauthorized('NoCredentials', NO_CREDENTIALS);
    return this.#tokens.resolveIdentity(token);
  }

  /** A 401 names the credentials that would help (RFC 9110, section 11.6.1). */
  #buildUnauthorized(reason: LoginFailure, message: string): Unauthorized {
    const schemes = this.#tokens === undefined ? ['ApiKey'] : ['ApiKey', 'Bearer'];
    const challenges = schemes.map((scheme) => `${scheme} realm="gx-platform"`).join(', ');
    return new FailedLogin(reason, message, { 'www-authenticate': challenges });
  }
}

/** Throws `Forbidden` if the caller's role is too small for such a route. */
export function permit({ role }: Caller, access: Route['access']): void {
  if (access === 'open' || hasRole(role, access)) return;
  throw new Forbidden(
    role === 'read'
      ? `This key may only read; the request needs the role ${access}.`
      : 'This needs the role admin; this key has the role write.',
  );
}

/** The vendor's clients look for "requires workspace specification" and then ask their user for a tenant. */
function chooseTenant([only, ...others]: string[], named: string | undefined): string {
  if (named !== undefined) {
    if (![only, ...others].includes(named))
      throw new Forbidden('X-Tenant-Id names a tenant that the caller does not belong to.');
    return named;
  }
  if (only === undefined || others.length > 0)
    throw new Forbidden(
      'This token requires workspace specification: name one of its tenants in X-Tenant-Id.',
    );
  return only;
}

const getSingle = (value: string | string[] | undefined): string | undefined => {
  const text = Array.isArray(value) ? value[0] : value;
  return text === undefined || text === '' ? undefined : text;
};
