import { Invalid } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { WebhookTarget } from '../db/webhooks.ts';
import type { Courier } from './courier.ts';
import { isLoopbackUrl, urlProblem, type UrlPolicy } from './url-rules.ts';

type Deps = {
  policy: UrlPolicy;
  /** False where `http.disable_webhooks` skips them all. */
  enabled: boolean;
  courier: Pick<Courier, 'poke'>;
  log: Log;
};

const LOOPBACK = 'a webhook calls this machine, as a server under development may; elsewhere webhooks.url.disable_loopback must be false';

/** Says where ends of runs may be told, and has them sent. */
export class Webhooks {
  readonly #deps: Deps;
  #hasWarned = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** False where ends are told to nobody. */
  get enabled(): boolean {
    return this.#deps.enabled;
  }

  /** Returns where the end of a run is told, if it is. */
  targetOf(url: string | null | undefined): WebhookTarget | null {
    return url === null || url === undefined ? null : this.targetAt(url, ['body', 'webhook']);
  }

  /** Returns where a URL leads. Throws `Invalid`, naming the field, where gx.json or the server itself forbids it. */
  targetAt(url: string, loc: string[]): WebhookTarget {
    const { policy, enabled, log } = this.#deps;
    const problem = enabled ? urlProblem(url, policy) : undefined;
    if (problem !== undefined) throw new Invalid([{ loc, msg: `The URL ${problem}`, type: 'url_policy' }]);
    if (!this.#hasWarned && isLoopbackUrl(url, policy)) {
      this.#hasWarned = true;
      log.info(LOOPBACK);
    }
    return { url, host: URL.canParse(url) ? new URL(url).host : '' };
  }

  /** Looks at once for ends that are to be told. */
  poke(): void {
    this.#deps.courier.poke();
  }
}
