import type { IncomingHttpHeaders } from 'node:http';
import { Conflict, Unauthorized } from '../errors.ts';
import { readCredential, mergeSocketKey } from '../http/callers/shown-key.ts';
import { TurnsByName } from '../http/limits/turns.ts';
import { Lookups } from '../http/outgoing/lookups.ts';
import type { Proxies } from '../http/outgoing/proxies.ts';
import type { Log } from '../log.ts';
import { isAgentPass } from '../schema/wire/agent-pass.ts';
import { IssuerTokens } from '../tokens/issuer-tokens.ts';
import { TenantKeys } from '../tokens/tenant-keys.ts';
import type { KnownDeployment } from './known-deployments.ts';
import { buildRetryLater } from './waking.ts';

type Options = {
  controlPlaneUrl: string | undefined;
  /** Hosts of identity providers that may be at private addresses. */
  issuerHosts: readonly string[];
  proxies?: Proxies | undefined;
  log: Log;
};

type Checks = { stamp: string; tenant: TenantKeys | undefined; tokens: IssuerTokens | undefined };

/** Algorithms with which tokens of agents are signed. */
const ALGORITHMS = ['RS256', 'ES256'];
const SKEW = 30;

/** The most jobs of one namespace that run at a time, and the most that wait. */
const AT_A_TIME = 4;
const WAITING = 200;
/** Seconds after which a refused client may come back. */
const CROWDED = 2;

/** Decides who may wake a deployment: the callers of its agents, as far as that can be known without the agents. */
export class WakingCallers {
  readonly #options: Options;
  readonly #checks = new Map<string, Checks>();
  readonly #lookups: Lookups;
  /** Issuers are of the tenants' choice: they may be slow, and their keys costly. */
  readonly #turns = new TurnsByName({
    all: Infinity,
    each: AT_A_TIME,
    waiting: WAITING,
    refuse: () => buildRetryLater('Too many tokens wait to be checked.', CROWDED),
  });

  constructor(options: Options) {
    this.#options = options;
    this.#lookups = new Lookups(options.proxies);
  }

  /**
   * Settles if the request's caller may wake the deployment. Throws `Unauthorized` if not, and `Unavailable` if that
   * can't be known now. The deployment itself decides what a caller may do once it is awake. A pass wakes nobody, so
   * that people may look at a deployment without disturbing it: that is a `Conflict`.
   */
  async admit(
    deployment: KnownDeployment,
    { headers, source }: { headers: IncomingHttpHeaders; source: string },
  ): Promise<void> {
    const shown = readCredential(mergeSocketKey(headers));
    if (shown !== undefined && isAgentPass(shown.text))
      throw new Conflict('The deployment sleeps, and a pass does not wake it.');
    if (deployment.isOpen) return;
    if (shown === undefined)
      throw new Unauthorized('Send the key of this deployment in X-Api-Key, or as a bearer token.');
    if (deployment.isOpenedBy(shown.text)) return;
    const { tenant, tokens } = this.#getChecks(deployment);
    if ((await tenant?.find(shown.text, { reads: false, source })) !== undefined) return;
    if (tokens === undefined || shown.from !== 'Authorization')
      throw new Unauthorized('This is not a key of this deployment.');
    await this.#turns.run(deployment.namespace, () => tokens.verifyToken(shown.text));
  }

  #getChecks({ key, id, auth = {} }: KnownDeployment): Checks {
    const { controlPlaneUrl, issuerHosts, log } = this.#options;
    const stamp = JSON.stringify([id, auth]);
    const known = this.#checks.get(key);
    if (known?.stamp === stamp) return known;
    const { mode, issuer, audiences = [], jwks } = auth;
    const place =
      mode === 'tenant' && controlPlaneUrl !== undefined
        ? { url: controlPlaneUrl, deploymentId: id }
        : undefined;
    const rules =
      issuer === undefined
        ? undefined
        : { issuer, audiences, jwksUrl: jwks, algorithms: ALGORITHMS, clockSkewSeconds: SKEW };
    const places = {
      privateHosts: issuerHosts,
      addressesOf: (host: string) => this.#lookups.resolveAddresses(host),
    };
    const made = {
      stamp,
      tenant: place && new TenantKeys({ place, log }),
      tokens:
        rules &&
        new IssuerTokens({ rules, realm: 'agent', places, proxies: this.#lookups.proxies, log }),
    };
    this.#checks.set(key, made);
    return made;
  }
}
