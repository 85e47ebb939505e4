import type { OperatorSettings } from '../../config/operator.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { replicasAllowed, replicasWanted, type WorkloadComponent } from '../revision/objects/sizes.ts';

/** Of an external database only the number of connections is ours to keep to. */
const SIZES_OF_OWN = ['dbCpu', 'dbCpuLimit', 'dbMemoryMb', 'dbMemoryLimitMb', 'dbStorageGi'] as const;

/** Fields of the spec that are stored but change nothing today, sorted (pure). */
export function fieldsWithoutEffect(deployment: DeploymentResource, settings: OperatorSettings): string[] {
  const spec = deployment.spec.template.resourceSpec ?? {};
  const hasRange = (component: WorkloadComponent): boolean =>
    replicasAllowed(deployment, component, settings) > replicasWanted(deployment, component, settings);
  const fields: [string, boolean][] = [
    // Nobody tells this platform of a push.
    ['buildOnPush', deployment.spec.sourceConfig?.buildOnPush === true],
    ['maxScale', hasRange('api')],
    ['queueMaxScale', hasRange('queue')],
    // Containers of a workload's pods are always started again.
    ['sidecars.restartPolicy', spec.sidecars?.some(({ restartPolicy }) => restartPolicy === 'OnFailure') === true],
    ['redisMemoryMb', spec.redisMemoryMb !== undefined],
  ];
  if (deployment.spec.database?.external !== undefined)
    fields.unshift(...SIZES_OF_OWN.map((name): [string, boolean] => [name, spec[name] !== undefined]));
  return fields.filter(([, isIdle]) => isIdle).map(([name]) => name);
}
