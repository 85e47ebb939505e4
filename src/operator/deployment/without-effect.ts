import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { storageMissing } from './volume.ts';

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
  const fields: [string, boolean][] = [
    // A volume never shrinks.
    ['dbStorageGi', storageMissing(deployment, { settings }, database) < 0],
    ['maxScale', maxScale > minScale],
    ['queueMaxScale', queueMaxScale > queueMinScale],
    ['redisMemoryMb', redisMemoryMb !== undefined],
  ];
  return fields.filter(([, isIdle]) => isIdle).map(([name]) => name);
}
