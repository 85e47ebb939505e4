import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { quantity } from '../kernel/quantity.ts';
import { databaseSize } from './objects/database.ts';

type StatefulSetSpec = { volumeClaimTemplates?: { spec: { resources: { requests: { storage: string } } } }[] };

/** Fields of the spec that are stored but change nothing today, sorted (pure). */
export function fieldsWithoutEffect(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  database: KubeObject | undefined,
): string[] {
  const spec = deployment.spec.template.resourceSpec ?? {};
  const { minScale = settings.profile.replicas, redisMemoryMb } = spec;
  const { maxScale = minScale, queueMinScale = minScale } = spec;
  const { queueMaxScale = Math.max(maxScale, queueMinScale) } = spec;
  const stored = (database?.spec as StatefulSetSpec | undefined)?.volumeClaimTemplates?.[0]?.spec.resources.requests.storage;
  const wanted = databaseSize(deployment, settings).storageGi * 2 ** 30;
  const isStorageFixed = stored !== undefined && quantity(stored) !== wanted;
  const fields: [string, boolean][] = [
    ['dbStorageGi', isStorageFixed],
    ['maxScale', maxScale > minScale],
    ['queueMaxScale', queueMaxScale > queueMinScale],
    ['redisMemoryMb', redisMemoryMb !== undefined],
  ];
  return fields.filter(([, isIdle]) => isIdle).map(([name]) => name);
}
