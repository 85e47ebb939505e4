import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { resolveConnections } from '../../rollout/connections.ts';
import { chooseWithinLimit } from '../../rollout/replicas.ts';
import { parseQuantity } from '../../kernel/quantity.ts';

export const DATABASE_PORT = 5432;

/** Returns the size that the spec asks for, in cores, Mi and Gi, with the installation's defaults. */
export function resolveDatabaseSize(deployment: DeploymentResource, settings: OperatorSettings) {
  const { profile } = settings;
  const spec = deployment.spec.template.resourceSpec ?? {};
  const cpu = chooseWithinLimit(spec.dbCpu, profile.database.cpu, spec.dbCpuLimit);
  const memoryMb = chooseWithinLimit(
    spec.dbMemoryMb,
    profile.database.memoryMb,
    spec.dbMemoryLimitMb,
  );
  return {
    cpu,
    cpuLimit: spec.dbCpuLimit ?? cpu * 2,
    memoryMb,
    memoryLimitMb: spec.dbMemoryLimitMb ?? memoryMb * 2,
    storageGi: spec.dbStorageGi ?? profile.database.storageGi,
    maxConnections: resolveConnections(deployment, settings).max,
  };
}

export type StorageRequest = { resources: { requests: { storage: string } } };
/** Returns the bytes of the volume that a live set was made with; undefined without one. */
export function getStorageBytes(live: KubeObject | undefined): number | undefined {
  const stored = (live?.spec as { volumeClaimTemplates?: { spec: StorageRequest }[] } | undefined)
    ?.volumeClaimTemplates?.[0]?.spec.resources.requests.storage;
  return stored === undefined ? undefined : parseQuantity(stored);
}
