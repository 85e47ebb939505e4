import type { OidcConfig } from '../../config/oidc.ts';
import type { Proxies } from '../../http/outgoing/proxies.ts';
import type { Log } from '../../log.ts';
import { IssuerTokens } from '../../tokens/issuer-tokens.ts';
import { type Identity, readIdentity } from './claims.ts';

/** The bearer tokens of the identity provider, with which people call this API. */
export class BearerTokens {
  readonly #config: OidcConfig;
  readonly #tokens: IssuerTokens;

  constructor({
    config,
    proxies,
    log,
    clock,
  }: {
    config: OidcConfig;
    proxies?: Proxies | undefined;
    log: Log;
    clock?: (() => number) | undefined;
  }) {
    this.#config = config;
    this.#tokens = new IssuerTokens({ rules: config, realm: 'gx-platform', proxies, log, clock });
  }

  /**
   * Returns whose token it is. Throws `Unauthorized` for an invalid token, `Unavailable` if it can't be verified now.
   */
  async resolveIdentity(token: string): Promise<Identity> {
    return readIdentity(await this.#tokens.verifyToken(token), this.#config);
  }
}
