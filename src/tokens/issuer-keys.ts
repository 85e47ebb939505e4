import { createLocalJWKSet, type JSONWebKeySet, type LocalJWKSet } from 'jose';
import { isTrustworthy } from '../config/oidc.ts';
import { asError, Unavailable } from '../errors.ts';
import type { Log } from '../log.ts';
import { issuerDocument, type IssuerPlaces } from './issuer-document.ts';

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

/** `places` says where the keys may be; without it, anywhere. */
type IssuerOptions = {
  issuer: string;
  jwksUrl: string | undefined;
  places?: IssuerPlaces | undefined;
  log: Log;
  clock?: () => number;
};
type Held = { keys: LocalJWKSet; at: number };

/** Keeps the public keys of one issuer, which its discovery document points to. */
export class IssuerKeys {
  readonly #options: IssuerOptions;
  readonly #clock: () => number;
  #held: Held | undefined;
  #triedAt = -Infinity;
  #failed = false;
  #reading: Promise<void> | undefined;

  constructor(options: IssuerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? (() => performance.now());
  }

  /** Returns the keys as last read. Throws `Unavailable` if there are none. */
  async current(): Promise<LocalJWKSet> {
    const age = this.#age();
    if (age > FRESH_MILLISECONDS && this.#mayTry()) await this.#read();
    if (this.#held === undefined || this.#age() > STALE_MILLISECONDS) throw this.#away();
    return this.#held.keys;
  }

  /**
   * Reads the keys again, for a token whose key is not among the current ones. Returns undefined when they were read
   * just now.
   */
  async renewed(): Promise<LocalJWKSet | undefined> {
    if (this.#age() < COOLDOWN_MILLISECONDS) return undefined;
    if (this.#mayTry()) await this.#read();
    // The key may be new. Nobody can tell while the issuer is away.
    if (this.#failed) throw this.#away();
    return this.#held?.keys;
  }

  #age(): number {
    return this.#held === undefined ? Infinity : this.#clock() - this.#held.at;
  }

  #mayTry(): boolean {
    const pause = this.#held === undefined ? FIRST_RETRY_MILLISECONDS : RETRY_MILLISECONDS;
    return this.#reading !== undefined || !this.#failed || this.#clock() - this.#triedAt > pause;
  }

  #away(): Unavailable {
    return new Unavailable(`The identity provider ${this.#options.issuer} does not answer, so the token can't be checked; try again.`);
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
      this.#options.log.warn({ err: asError(error), issuer: this.#options.issuer }, 'keys of the identity provider could not be read');
    }
  }

  async #fetchKeys(): Promise<JSONWebKeySet> {
    const { issuer, jwksUrl, places } = this.#options;
    const url = jwksUrl ?? (await discovered(issuer, places));
    const { keys } = (await issuerDocument(url, places)) as Partial<JSONWebKeySet>;
    if (!Array.isArray(keys)) throw new Unavailable(`${url} holds no list of keys.`);
    if (keys.length > MOST_KEYS) throw new Unavailable(`${url} holds ${keys.length} keys; at most ${MOST_KEYS} are accepted.`);
    return { keys };
  }
}

/** The document lies below the issuer's address and must name the issuer (OpenID Connect Discovery 1.0, section 4). */
async function discovered(issuer: string, places: IssuerPlaces | undefined): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = (await issuerDocument(url, places)) as Record<string, unknown>;
  if (document.issuer !== issuer) throw new Unavailable(`The discovery document of ${issuer} names another issuer.`);
  if (typeof document.jwks_uri !== 'string') throw new Unavailable(`The discovery document of ${issuer} names no jwks_uri.`);
  if (!isTrustworthy(document.jwks_uri)) throw new Unavailable(`The discovery document of ${issuer} names a jwks_uri without https.`);
  return document.jwks_uri;
}
