import { buildObjectKey, type Cache } from '../../kube/cache.ts';
import type { Kind, Kube, KubeObject } from '../../kube/kube.ts';
import { trimObject } from './caches.ts';

export type Refreshed<T> = [object: T, signal: AbortSignal];

/** Reads an object again after its deletion was asked for: it may be gone, or wait for a finalizer. */
export async function refresh<T extends KubeObject>(
  kube: Kube,
  kind: Kind<T>,
  cache: Cache<T>,
  [object, signal]: Refreshed<T>,
): Promise<void> {
  const { namespace, name } = object.metadata;
  const key = buildObjectKey({ namespace, name });
  const live = await kube.find(kind, { namespace, name }, signal);
  if (live !== undefined) cache.addIfNewer(trimObject(live));
  else
    cache.remove(
      key,
      BigInt(cache.get(key)?.metadata.resourceVersion ?? object.metadata.resourceVersion ?? '0'),
    );
}
