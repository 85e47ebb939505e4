import { setTimeout as wait } from 'node:timers/promises';
import { toError, Forbidden } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { Kube, KubeObject } from '../../kube/kube.ts';
import type { Log } from '../../log.ts';
import { SECRETS_OF } from '../../schema/platform/objects/labels.ts';
import type { OperatorDeps } from '../view/deps.ts';
import { buildObjectKey } from '../../kube/cache.ts';
import { BY_SECRET, type Caches } from '../view/caches.ts';

export type SweepOptions = OperatorDeps & {
  log: Log;
  namespaces: string[];
  /** Milliseconds between two sweeps. A Secret that nothing names in both is removed. */
  every: number;
};

/** Removes the Secrets of changes that were never completed, until the signal is aborted. */
export async function sweepSecrets(options: SweepOptions, signal: AbortSignal): Promise<void> {
  let suspects = new Set<string>();
  while (!signal.aborted) {
    await wait(options.every, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      suspects = await sweep(options, suspects, signal);
    } catch (error) {
      options.log.warn({ err: toError(error) }, 'secrets not swept');
    }
  }
}

/**
 * Returns the namespaces that can have Secrets of deployments, because no installation may list Secrets of the whole
 * cluster.
 */
const listNamespaces = ({ deployments, listeners }: OperatorDeps['caches']): string[] => [
  ...new Set([
    ...deployments.list().flatMap(({ metadata }) => metadata.namespace ?? []),
    ...listeners.list().flatMap(({ spec }) => spec.namespaces),
  ]),
];

async function readSecrets(
  namespace: string,
  kube: Kube,
  log: Log,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  try {
    return (await kube.listAll(
      kinds.secret,
      { namespace, labelSelector: SECRETS_OF },
      signal,
    )) as KubeObject[];
  } catch (error) {
    if (!(error instanceof Forbidden)) throw error;
    log.warn(
      { namespace, err: error },
      'no right to the Secrets of this namespace: unused ones stay',
    );
    return [];
  }
}

/** Removes the suspects that are still unreferenced, and returns the new suspects. */
export async function sweep(
  { kube, caches, writer, log, namespaces, every }: SweepOptions,
  suspects: Set<string>,
  signal: AbortSignal,
): Promise<Set<string>> {
  const places = namespaces.length === 0 ? listNamespaces(caches) : namespaces;
  const secrets = await Promise.all(
    places.map((namespace) => readSecrets(namespace, kube, log, signal)),
  );
  const idle = filterUnreferencedSecrets(secrets.flat(), caches);
  const old = idle.filter(
    ({ metadata }) => Date.now() - Date.parse(metadata.creationTimestamp ?? '') > every,
  );
  for (const secret of old.filter(({ metadata }) => suspects.has(metadata.uid ?? ''))) {
    await writer.remove(secret, signal);
    log.info(
      { namespace: secret.metadata.namespace, secret_name: secret.metadata.name },
      'unused secret removed',
    );
  }
  return new Set(old.map(({ metadata }) => metadata.uid ?? ''));
}

/** Returns the Secrets made for deployments that no deployment and no revision of their namespace names. */
export function filterUnreferencedSecrets(
  secrets: KubeObject[],
  { deployments, revisions }: Caches,
): KubeObject[] {
  const isNamed = (key: string): boolean =>
    [deployments, revisions].some((cache) => cache.listKeysByIndex(BY_SECRET, key).length > 0);
  // A Secret with an owner is deleted with it.
  return secrets.filter(
    ({ metadata }) => metadata.ownerReferences === undefined && !isNamed(buildObjectKey(metadata)),
  );
}
