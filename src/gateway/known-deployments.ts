import { timingSafeEqual } from 'node:crypto';
import { Cache } from '../kube/cache.ts';
import { kinds, type Kube } from '../kube/kube.ts';
import { Limiter } from '../kube/limiter.ts';
import { Reflector } from '../kube/watch.ts';
import type { Log } from '../log.ts';
import { gatewayKeyHash } from '../schema/agent-key.ts';
import type { DeploymentResource } from '../schema/custom-resources.ts';

type Options = { kube: Kube; log: Log; namespaces: string[] };

/** Returns what the gateway knows of a deployment. The rest of ten thousand of them would be most of its memory. */
function lean(deployment: DeploymentResource): DeploymentResource {
  const { name, namespace, uid, resourceVersion } = deployment.metadata;
  const { keyHashes } = deployment.status ?? {};
  const metadata = Object.fromEntries(Object.entries({ name, namespace, uid, resourceVersion }).filter(([, value]) => value !== undefined));
  return {
    apiVersion: deployment.apiVersion,
    kind: deployment.kind,
    metadata: { ...metadata, name },
    spec: { source: deployment.spec.source, template: {} },
    status: { ...(keyHashes !== undefined && { keyHashes }) },
  };
}

const NOBODY = { relisted: () => undefined, missed: () => undefined, active: () => undefined };

/** The deployments of the watched namespaces, as their resources say. */
export class KnownDeployments {
  readonly #cache = new Cache<DeploymentResource>();
  readonly #watches: Reflector<DeploymentResource>[];

  constructor({ kube, log, namespaces }: Options) {
    const places = namespaces.length === 0 ? [undefined] : namespaces;
    const pages = new Limiter(2);
    this.#watches = places.map(
      (namespace) =>
        new Reflector({ kube, log, pages, namespace, kind: kinds.deployment, cache: this.#cache, project: lean, observer: NOBODY }),
    );
  }

  /** Starts to watch. Resolves when all deployments are known. */
  async start(): Promise<void> {
    for (const watch of this.#watches) watch.start();
    await Promise.all(this.#watches.map(({ synced }) => synced));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.stop()));
  }

  get size(): number {
    return this.#cache.size;
  }

  has(key: string): boolean {
    return this.#cache.get(key) !== undefined;
  }

  /**
   * Returns true if the text is a key of the deployment (`namespace/name`). The time that it takes does not tell how
   * much of it is right.
   */
  isOpenedBy(deployment: string, text: string): boolean {
    const given = Buffer.from(gatewayKeyHash(text));
    let found = false;
    for (const hash of this.#cache.get(deployment)?.status?.keyHashes ?? []) {
      const known = Buffer.from(hash);
      found = (known.length === given.length && timingSafeEqual(known, given)) || found;
    }
    return found;
  }
}
