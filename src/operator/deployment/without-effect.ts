import type { OperatorSettings } from '../../config/operator.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';

/** Of an external database only the number of connections is ours to keep to. */
const SIZES_OF_OWN = ['dbCpu', 'dbCpuLimit', 'dbMemoryMb', 'dbMemoryLimitMb', 'dbStorageGi'] as const;

/** Fields of the spec that are stored but change nothing today, sorted (pure). */
export function fieldsWithoutEffect(deployment: DeploymentResource, settings: OperatorSettings): string[] {
  const spec = deployment.spec.template.resourceSpec ?? {};
  const { minScale = settings.profile.replicas, redisMemoryMb } = spec;
  const { maxScale = minScale, queueMinScale = minScale } = spec;
  const { queueMaxScale = Math.max(maxScale, queueMinScale) } = spec;
  const fields: [string, boolean][] = [
    // Nobody tells this platform of a push.
    ['buildOnPush', deployment.spec.sourceConfig?.buildOnPush === true],
    ['maxScale', maxScale > minScale],
    ['queueMaxScale', queueMaxScale > queueMinScale],
    ['redisMemoryMb', redisMemoryMb !== undefined],
  ];
  if (deployment.spec.database?.external !== undefined)
    fields.unshift(...SIZES_OF_OWN.map((name): [string, boolean] => [name, spec[name] !== undefined]));
  return fields.filter(([, isIdle]) => isIdle).map(([name]) => name);
}
