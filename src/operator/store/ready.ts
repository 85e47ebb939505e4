import type { KubeObject } from '../../kube/kube.ts';
import { ASLEEP, HIBERNATED, STORE_READY } from '../../schema/conditions.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { names } from '../../schema/names.ts';
import { isAsleep } from '../family/sleepers.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import { storeMemory } from './desired.ts';

/** Tells whether the key-value store takes connections. Nothing waits for it, because streams do without. */
export function storeStatement(deployment: DeploymentResource, objects: KubeObject[]): StatedCondition[] {
  if (storeMemory(deployment) === undefined) return [];
  const name = names.store(deployment.metadata.name);
  const set = objects.find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === name);
  const { readyReplicas = 0 } = (set?.status ?? {}) as { readyReplicas?: number };
  const said = (status: 'True' | 'False', reason: string, message: string): StatedCondition[] => [
    { type: STORE_READY, status, reason, message },
  ];
  if (readyReplicas > 0) return said('True', 'StoreReady', 'The key-value store takes connections.');
  if (deployment.spec.hibernate === true) return said('False', HIBERNATED, 'The key-value store is stopped.');
  if (isAsleep(deployment)) return said('False', ASLEEP, 'The key-value store sleeps with its deployment.');
  return said('False', 'StoreNotReady', `The pod of StatefulSet ${name} is not ready. Streams go through the database meanwhile.`);
}
