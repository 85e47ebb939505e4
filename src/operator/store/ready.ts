import type { KubeObject } from '../../kube/kube.ts';
import { ASLEEP, HIBERNATED, STORE_READY } from '../../schema/conditions.ts';
import { names } from '../../schema/names.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import { storeMemory, type StoreFacts } from './desired.ts';

/** Tells whether the key-value store takes connections. Nothing waits for it, because streams do without. */
export function storeStatement({ deployment, isAsleep }: Omit<StoreFacts, 'settings'>, objects: KubeObject[]): StatedCondition[] {
  if (storeMemory(deployment) === undefined) return [];
  const name = names.store(deployment.metadata.name);
  const set = objects.find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === name);
  const { readyReplicas = 0 } = (set?.status ?? {}) as { readyReplicas?: number };
  const said = (status: 'True' | 'False', reason: string, message: string): StatedCondition[] => [
    { type: STORE_READY, status, reason, message },
  ];
  if (readyReplicas > 0) return said('True', 'StoreReady', 'The key-value store takes connections.');
  if (deployment.spec.hibernate === true) return said('False', HIBERNATED, 'The key-value store is stopped.');
  if (isAsleep) return said('False', ASLEEP, 'The key-value store sleeps with its deployment.');
  return said('False', 'StoreNotReady', `The pod of StatefulSet ${name} is not ready. Streams go through the database meanwhile.`);
}
