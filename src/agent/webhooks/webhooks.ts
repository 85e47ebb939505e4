import { Invalid } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { WebhookTarget } from '../db/webhooks/webhooks.ts';
import type { Courier } from './courier.ts';
import { isOwnPath, type OwnRoutes, type OwnRouteTargets } from './own-routes.ts';
import { isLoopbackUrl, checkWebhookUrl, type UrlPolicy } from './url-rules.ts';

type Deps = {
  policy: UrlPolicy;
  /** False where `http.disable_webhooks` skips them all. */
  enabled: boolean;
  /** Names of headers that gx.json has and that are sent to nobody. */
  withheld: string[];
  courier: Courier;
  ownRoutes: OwnRouteTargets;
  log: Log;
};

/** Stands where other webhooks name the host that they call. It is no host's name. */
const OWN_PLACE = '/';

const LOOPBACK =
  'a webhook calls this machine, as a server under development may; elsewhere webhooks.url.disable_loopback must be false';

/** Says where ends of runs may be sent, and has them sent. */
export class Webhooks {
  readonly #deps: Deps;
  #hasWarned = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** False where ends are sent to nobody. */
  get enabled(): boolean {
    return this.#deps.enabled;
  }

  /** Names of headers that gx.json has and that are sent to nobody. */
  get withheld(): string[] {
    return this.#deps.withheld;
  }

  resolveTarget(url: string | null | undefined): WebhookTarget | null {
    if (url === null || url === undefined) return null;
    const loc = ['body', 'webhook'];
    const target = isOwnPath(url)
      ? this.#resolveOwnTarget(url, loc)
      : this.resolveOuterTarget(url, loc);
    return this.enabled ? target : { ...target, skipped: true };
  }

  #resolveOwnTarget(url: string, loc: string[]): WebhookTarget {
    const { enabled, ownRoutes } = this.#deps;
    refuse(enabled ? ownRoutes.checkPath(url) : undefined, loc);
    return { url, host: OWN_PLACE };
  }

  /** From now on, webhooks may call the application, where gx.json lets them. */
  serve(routes: OwnRoutes): void {
    this.#deps.ownRoutes.serve(routes);
  }

  /** Returns where a URL leads. Throws `Invalid`, naming the field, where gx.json or the server itself forbids it. */
  resolveOuterTarget(url: string, loc: string[]): WebhookTarget {
    const { policy, enabled, log } = this.#deps;
    refuse(enabled ? checkWebhookUrl(url, policy) : undefined, loc);
    if (!this.#hasWarned && isLoopbackUrl(url, policy)) {
      this.#hasWarned = true;
      log.info(LOOPBACK);
    }
    return { url, host: URL.canParse(url) ? new URL(url).host : '' };
  }

  /** Looks at once for ends that are to be sent. */
  wake(): void {
    this.#deps.courier.wake();
  }
}

function refuse(problem: string | undefined, loc: string[]): void {
  if (problem !== undefined)
    throw new Invalid([{ loc, msg: `The URL ${problem}`, type: 'url_policy' }]);
}
