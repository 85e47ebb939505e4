import { keyOf } from '../../kube/cache.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { BY_SECRET, type Caches } from '../view/caches.ts';

/** Returns the Secrets made for deployments that no deployment and no revision of their namespace names. */
export function unreferenced(secrets: KubeObject[], { deployments, revisions }: Pick<Caches, 'deployments' | 'revisions'>): KubeObject[] {
  const isNamed = (key: string): boolean => [deployments, revisions].some((cache) => cache.keysByIndex(BY_SECRET, key).length > 0);
  // A Secret with an owner is deleted with it.
  return secrets.filter(({ metadata }) => metadata.ownerReferences === undefined && !isNamed(keyOf(metadata)));
}
