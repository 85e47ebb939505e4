import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  createLocalJWKSet,
  type JSONWebKeySet,
  type LocalJWKSet,
} from 'jose';
import { type OidcConfig, isTrustworthy } from '../config/oidc.ts';
import { Unauthorized, toError, Unavailable } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Proxies } from '../http/outgoing/proxies.ts';
import { type IssuerPlaces, type IssuerWays, fetchIssuerDocument } from './issuer-document.ts';

/** Whose tokens are accepted: those of this issuer that are for one of the audiences. */
export type TokenRules = Pick<
  OidcConfig,
  'issuer' | 'audiences' | 'jwksUrl' | 'algorithms' | 'clockSkewSeconds'
>;

export type TokenClaims = JWTPayload;

/**
 * A refusal calls the guarded place by `realm`. `places` says where keys may be read, for rules that others than
 * the administrator wrote.
 */
type TokensOptions = {
  rules: TokenRules;
  realm: string;
  places?: IssuerPlaces | undefined;
  proxies?: Proxies | undefined;
  log: Log;
  clock?: (() => number) | undefined;
};

/** Verifies bearer tokens of one issuer, which are JWTs that it signed for one of the audiences. */
export class IssuerTokens {
  readonly #realm: string;
  readonly #rules: TokenRules;
  readonly #keys: IssuerKeys;
  readonly #checks: JWTVerifyOptions;

  constructor({ rules, realm, places, proxies, log, clock }: TokensOptions) {
    this.#realm = realm;
    this.#rules = rules;
    this.#keys = new IssuerKeys({
      issuer: rules.issuer,
      jwksUrl: rules.jwksUrl,
      ways: { places, proxies },
      log,
      ...(clock && { clock }),
    });
    this.#checks = {
      issuer: rules.issuer,
      audience: rules.audiences,
      algorithms: rules.algorithms,
      clockTolerance: rules.clockSkewSeconds,
      requiredClaims: ['exp'],
    };
  }

  /**
   * Returns the claims of a token. Throws `Unauthorized` for an invalid one, `Unavailable` if it can't be verified now.
   */
  async verifyToken(token: string): Promise<TokenClaims> {
    try {
      checkForm(token, this.#rules);
      return await this.#verifyWithKnownKeys(token);
    } catch (error) {
      if (error instanceof errors.JOSEError) throw buildRefusal(error, this.#realm);
      throw error;
    }
  }

  async #verifyWithKnownKeys(token: string): Promise<JWTPayload> {
    try {
      return await this.#verifyWithKeys(token, await this.#keys.requireKeys());
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const renewed = await this.#keys.renewKeys();
      if (renewed === undefined) throw error;
      return this.#verifyWithKeys(token, renewed);
    }
  }

  async #verifyWithKeys(token: string, keys: JWTVerifyGetKey): Promise<JWTPayload> {
    try {
      return requireApiPayload(await jwtVerify(token, keys, this.#checks));
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      return this.#verifyWithAny(token, error);
    }
  }

  /** Verifies a token without a key id, from an issuer with several keys. */
  async #verifyWithAny(
    token: string,
    candidates: errors.JWKSMultipleMatchingKeys,
  ): Promise<JWTPayload> {
    for await (const key of candidates) {
      try {
        return requireApiPayload(await jwtVerify(token, key, this.#checks));
      } catch (error) {
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Types of tokens that are made to call an API (RFC 9068). Issuers sign others with the same keys. */
const TYPES = ['jwt', 'at+jwt', 'application/at+jwt', 'application/jwt'];

/** Returns the claims of a token. Throws if it was not made for calling an API. */
function requireApiPayload({ payload, protectedHeader }: JWTVerifyResult): JWTPayload {
  const { typ = 'jwt' } = protectedHeader;
  if (TYPES.includes(typ.toLowerCase())) return payload;
  throw new errors.JWTClaimValidationFailed('another type', payload, 'typ', 'check_failed');
}

const OF_CLAIM: Record<string, string> = {
  typ: 'is of a type that is not made for calling an API',
  iss: 'was issued by another issuer',
  aud: 'is for another audience',
  nbf: 'is not valid yet',
  exp: 'has no time of expiry',
};

/** Returns the fault of the token, without quoting any part of it. */
function describeFault(error: Error): string {
  if (error instanceof errors.JWTExpired) return 'has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return OF_CLAIM[error.claim] ?? `has a claim ${error.claim} that does not fit`;
  if (error instanceof errors.JOSEAlgNotAllowed)
    return 'is signed by an algorithm that is not accepted';
  if (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWSSignatureVerificationFailed
  )
    return 'is not signed by a key of the issuer';
  return 'is not a signed JSON Web Token';
}

/** The challenge says the same as the body (RFC 6750, section 3). */
function buildRefusal(error: Error, realm: string): Unauthorized {
  const text = `The bearer token ${describeFault(error)}.`;
  const challenge = `Bearer realm="${realm}", error="invalid_token", error_description="${text}"`;
  return new Unauthorized(text, { cause: error, headers: { 'www-authenticate': challenge } });
}

/**
 * Throws jose's own error for a text that no key can make a good token of, so that nobody reads keys for it. Its
 * claims are believed only once its signature is verified.
 */
function checkForm(
  token: string,
  { issuer, algorithms }: { issuer: string; algorithms: readonly string[] },
): void {
  const { alg } = decodeHeader(token);
  if (alg === undefined) throw new errors.JWTInvalid('no algorithm');
  if (!algorithms.includes(alg)) throw new errors.JOSEAlgNotAllowed('another algorithm');
  const claims = decodeJwt(token);
  if (claims.iss !== issuer)
    throw new errors.JWTClaimValidationFailed('another issuer', claims, 'iss', 'check_failed');
}

function decodeHeader(token: string): { alg?: string | undefined } {
  try {
    return decodeProtectedHeader(token);
  } catch (error) {
    throw new errors.JWTInvalid('no header', { cause: error });
  }
}

/** Keys older than this are read again, so a key that the issuer withdrew is trusted no longer than this. */
const FRESH_MILLISECONDS = 600_000;
/** While the issuer is away, its last keys stay valid for a day, so that a night's outage locks nobody out. */
const STALE_MILLISECONDS = 24 * 3_600_000;
/** The pause between two reads for unknown keys. It limits the issuer's load from tokens with made-up key ids. */
const COOLDOWN_MILLISECONDS = 5000;
/** The pause between two attempts to reach an issuer that is away. The last keys are used meanwhile. */
const RETRY_MILLISECONDS = 30_000;
/** The same while there are none: they are waited for. */
const FIRST_RETRY_MILLISECONDS = 1000;
/** Keys of one issuer. A token without a key id is tried with each. */
const MOST_KEYS = 50;

type IssuerOptions = {
  issuer: string;
  jwksUrl: string | undefined;
  ways: IssuerWays;
  log: Log;
  clock?: () => number;
};
/** Keeps the public keys of one issuer, which its discovery document points to. */
class IssuerKeys {
  readonly #options: IssuerOptions;
  readonly #clock: () => number;
  #held: { keys: LocalJWKSet; at: number } | undefined;
  #triedAt = -Infinity;
  #failed = false;
  #reading: Promise<void> | undefined;

  constructor(options: IssuerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? (() => performance.now());
  }

  /** Returns the keys as last read. Throws `Unavailable` if there are none. */
  async requireKeys(): Promise<LocalJWKSet> {
    const age = this.#measureAge();
    if (age > FRESH_MILLISECONDS && this.#mayTry()) await this.#read();
    if (this.#held === undefined || this.#measureAge() > STALE_MILLISECONDS)
      throw this.#buildUnavailable();
    return this.#held.keys;
  }

  /**
   * Reads the keys again, for a token whose key is not among the current ones. Returns undefined when they were read
   * just now.
   */
  async renewKeys(): Promise<LocalJWKSet | undefined> {
    if (this.#measureAge() < COOLDOWN_MILLISECONDS) return undefined;
    if (this.#mayTry()) await this.#read();
    // The key may be new. Nobody can tell while the issuer is away.
    if (this.#failed) throw this.#buildUnavailable();
    return this.#held?.keys;
  }

  #measureAge(): number {
    return this.#held === undefined ? Infinity : this.#clock() - this.#held.at;
  }

  #mayTry(): boolean {
    const pause = this.#held === undefined ? FIRST_RETRY_MILLISECONDS : RETRY_MILLISECONDS;
    return this.#reading !== undefined || !this.#failed || this.#clock() - this.#triedAt > pause;
  }

  #buildUnavailable(): Unavailable {
    return new Unavailable(
      `The identity provider ${this.#options.issuer} does not answer, so the token can't be checked; try again.`,
    );
  }

  /** One read serves all who wait. Its failure is logged and remembered. */
  async #read(): Promise<void> {
    this.#reading ??= this.#readNow().finally(() => (this.#reading = undefined));
    await this.#reading;
  }

  async #readNow(): Promise<void> {
    this.#triedAt = this.#clock();
    try {
      this.#held = { keys: createLocalJWKSet(await this.#fetchKeys()), at: this.#triedAt };
      this.#failed = false;
    } catch (error) {
      this.#failed = true;
      this.#options.log.warn(
        { err: toError(error), issuer: this.#options.issuer },
        'keys of the identity provider could not be read',
      );
    }
  }

  async #fetchKeys(): Promise<JSONWebKeySet> {
    const { issuer, jwksUrl, ways } = this.#options;
    const url = jwksUrl ?? (await fetchJwksUrl(issuer, ways));
    const { keys } = (await fetchIssuerDocument(url, ways)) as Partial<JSONWebKeySet>;
    if (!Array.isArray(keys)) throw new Unavailable(`${url} holds no list of keys.`);
    if (keys.length > MOST_KEYS)
      throw new Unavailable(`${url} holds ${keys.length} keys; at most ${MOST_KEYS} are accepted.`);
    return { keys };
  }
}

/** The document lies below the issuer's address and must name the issuer (OpenID Connect Discovery 1.0, section 4). */
async function fetchJwksUrl(issuer: string, ways: IssuerWays): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = (await fetchIssuerDocument(url, ways)) as Record<string, unknown>;
  if (document.issuer !== issuer)
    throw new Unavailable(`The discovery document of ${issuer} names another issuer.`);
  if (typeof document.jwks_uri !== 'string')
    throw new Unavailable(`The discovery document of ${issuer} names no jwks_uri.`);
  if (!isTrustworthy(document.jwks_uri))
    throw new Unavailable(`The discovery document of ${issuer} names a jwks_uri without https.`);
  return document.jwks_uri;
}
