import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
} from 'jose';
import type { OidcConfig } from '../config/oidc.ts';
import { Unauthorized } from '../errors.ts';
import type { Log } from '../log.ts';
import type { IssuerPlaces } from './issuer-document.ts';
import { IssuerKeys } from './issuer-keys.ts';

/** Whose tokens are accepted: those of this issuer that are for one of the audiences. */
export type TokenRules = Pick<OidcConfig, 'issuer' | 'audiences' | 'jwksUrl' | 'algorithms' | 'clockSkewSeconds'>;

/** The claims of a token. */
export type TokenClaims = JWTPayload;

/**
 * A refusal calls the guarded place by `realm`. `places` says where keys may be read, for rules that others than
 * the administrator wrote.
 */
type TokensOptions = {
  rules: TokenRules;
  realm: string;
  places?: IssuerPlaces | undefined;
  log: Log;
  clock?: (() => number) | undefined;
};

/** Verifies bearer tokens of one issuer, which are JWTs that it signed for one of the audiences. */
export class IssuerTokens {
  readonly #realm: string;
  readonly #rules: TokenRules;
  readonly #keys: IssuerKeys;
  readonly #checks: JWTVerifyOptions;

  constructor({ rules, realm, places, log, clock }: TokensOptions) {
    this.#realm = realm;
    this.#rules = rules;
    this.#keys = new IssuerKeys({ issuer: rules.issuer, jwksUrl: rules.jwksUrl, places, log, ...(clock && { clock }) });
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
  async claimsOf(token: string): Promise<TokenClaims> {
    try {
      checkForm(token, this.#rules);
      return await this.#claimsByKnownKeys(token);
    } catch (error) {
      if (error instanceof errors.JOSEError) throw refusal(error, this.#realm);
      throw error;
    }
  }

  async #claimsByKnownKeys(token: string): Promise<JWTPayload> {
    try {
      return await this.#verified(token, await this.#keys.current());
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const renewed = await this.#keys.renewed();
      if (renewed === undefined) throw error;
      return this.#verified(token, renewed);
    }
  }

  async #verified(token: string, keys: JWTVerifyGetKey): Promise<JWTPayload> {
    try {
      return payloadOf(await jwtVerify(token, keys, this.#checks));
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      return this.#verifiedByAny(token, error);
    }
  }

  /** Verifies a token without a key id, from an issuer with several keys. */
  async #verifiedByAny(token: string, candidates: errors.JWKSMultipleMatchingKeys): Promise<JWTPayload> {
    for await (const key of candidates) {
      try {
        return payloadOf(await jwtVerify(token, key, this.#checks));
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
function payloadOf({ payload, protectedHeader }: JWTVerifyResult): JWTPayload {
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
function fault(error: Error): string {
  if (error instanceof errors.JWTExpired) return 'has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return OF_CLAIM[error.claim] ?? `has a claim ${error.claim} that does not fit`;
  if (error instanceof errors.JOSEAlgNotAllowed) return 'is signed by an algorithm that is not accepted';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWSSignatureVerificationFailed)
    return 'is not signed by a key of the issuer';
  return 'is not a signed JSON Web Token';
}

/** The challenge says the same as the body (RFC 6750, section 3). */
function refusal(error: Error, realm: string): Unauthorized {
  const text = `The bearer token ${fault(error)}.`;
  const challenge = `Bearer realm="${realm}", error="invalid_token", error_description="${text}"`;
  return new Unauthorized(text, { cause: error, headers: { 'www-authenticate': challenge } });
}

/**
 * Throws jose's own error for a text that no key can make a good token of, so that nobody reads keys for it. Its
 * claims are believed only once its signature is verified.
 */
function checkForm(token: string, { issuer, algorithms }: { issuer: string; algorithms: readonly string[] }): void {
  const { alg } = headerOf(token);
  if (alg === undefined) throw new errors.JWTInvalid('no algorithm');
  if (!algorithms.includes(alg)) throw new errors.JOSEAlgNotAllowed('another algorithm');
  const claims = decodeJwt(token);
  if (claims.iss !== issuer) throw new errors.JWTClaimValidationFailed('another issuer', claims, 'iss', 'check_failed');
}

function headerOf(token: string): { alg?: string | undefined } {
  try {
    return decodeProtectedHeader(token);
  } catch (error) {
    throw new errors.JWTInvalid('no header', { cause: error });
  }
}
