import type { ParentRef } from '../../config/platform/routes.ts';
import { toError, Forbidden } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Kube, KubeObject } from '../../kube/kube.ts';
import type { Log } from '../../log.ts';
import { sleepUnlessAborted } from '../../pause.ts';
import { formatCanonicalJson } from '../../schema/canonical-json.ts';

/** Milliseconds between two looks: a Gateway gets another class, or its controller another version, once in a while. */
const LOOK = 60_000;

type Options = {
  kube: Kube;
  /** The parents of all routes. None: nobody asks for their features. */
  parents: readonly ParentRef[];
  /** Called when a look finds other features than the one before. */
  changed: () => void;
  log: Log;
};

/** Names of the features of the Gateway API that the parents of routes have, as far as they can be known. */
export type ParentFeatures = ReadonlySet<string> | undefined;

/**
 * Looks at the features of the Gateways that routes are attached to. Those are the administrator's, mostly in another
 * namespace, so the operator may lack the right to read them, or the cluster the kind. Their features are unknown then.
 */
export class RouteParents {
  readonly #options: Options;
  #features: ParentFeatures;

  constructor(options: Options) {
    this.#options = options;
  }

  get features(): ParentFeatures {
    return this.#features;
  }

  /** Looks once. Never throws: a look that fails leaves the features of the last one. */
  async look(signal: AbortSignal): Promise<void> {
    const { parents, kube, changed, log } = this.#options;
    if (parents.length === 0) return;
    try {
      const found = await Promise.all(
        parents.map((parent) => readParentFeatures(parent, kube, signal)),
      );
      const features = found.some((one) => one === undefined)
        ? undefined
        : new Set(found.flatMap((one) => one ?? []));
      const isOther =
        formatCanonicalJson(sortFeatures(features)) !==
        formatCanonicalJson(sortFeatures(this.#features));
      this.#features = features;
      if (isOther) changed();
    } catch (error) {
      log.warn(
        { err: toError(error) },
        'the features of Gateways could not be read; this will be tried again',
      );
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#options.parents.length === 0) return;
    while (await sleepUnlessAborted(LOOK, signal)) await this.look(signal);
  }
}

const sortFeatures = (features: ParentFeatures): string[] | null =>
  features === undefined ? null : [...features].toSorted();

/** Before it was standard, a feature was its name alone. */
type GatewayClass = KubeObject & { status?: { supportedFeatures?: (string | { name: string })[] } };

async function readParentFeatures(
  { name, namespace, kind = 'Gateway' }: ParentRef,
  kube: Kube,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  // Without a namespace, the parents of each deployment are others.
  if (kind !== 'Gateway' || namespace === undefined) return undefined;
  try {
    const gateway = await kube.find<KubeObject & { spec?: { gatewayClassName?: string } }>(
      kinds.gateway,
      { namespace, name },
      signal,
    );
    const className = gateway?.spec?.gatewayClassName;
    if (className === undefined) return undefined;
    const found = await kube.find<GatewayClass>(kinds.gatewayClass, { name: className }, signal);
    return found?.status?.supportedFeatures?.map((feature) =>
      typeof feature === 'string' ? feature : feature.name,
    );
  } catch (error) {
    if (error instanceof Forbidden) return undefined;
    throw error;
  }
}
