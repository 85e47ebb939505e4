import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { RevisionResource } from '../../../schema/platform/resources/custom-resources.ts';
import type { Pin } from '../../../schema/platform/rollout/pins.ts';
import type { BudgetsSpec } from '../../../schema/platform/spec/budget-spec.ts';
import type { DatabaseAddress } from '../../database/address.ts';
import { chooseWithinLimit, type WorkloadComponent } from '../../rollout/replicas.ts';
import { formatCores, formatMebibytes } from '../../kernel/quantity.ts';

export type WorkloadWish = {
  component: WorkloadComponent;
  /** Undefined: somebody else sets it. */ replicas: number | undefined;
  /** The number that it began with, if that is more than its least. */ beganWith?: number;
  /** The kind of work that the pods pin to their revision. Undefined: nothing. */
  pin?: Pin | undefined;
  /** Bounds of the calls of models. */
  budgets?: BudgetsSpec | undefined;
  secretName: string | undefined;
  address: DatabaseAddress;
  /** Connections of the database, which the pods share out. */
  connections: number;
  /** The deployment's id as REST shows it. */
  deploymentId: string;
  image: string | undefined;
};

/** Returns requests as asked, and limits of twice that unless they are given. The queue's default to the api's. */
export function buildContainerResources(
  { spec }: RevisionResource,
  component: WorkloadComponent,
  { profile }: OperatorSettings,
): object {
  const given = spec.template.resourceSpec ?? {};
  const cpu = chooseWithinLimit(given.cpu, profile.cpu, given.cpuLimit);
  const memory = chooseWithinLimit(given.memoryMb, profile.memoryMb, given.memoryLimitMb);
  const api = {
    cpu,
    memory,
    cpuLimit: given.cpuLimit ?? cpu * 2,
    memoryLimit: given.memoryLimitMb ?? memory * 2,
  };
  const queueCpu = chooseWithinLimit(given.queueCpu, cpu, given.queueCpuLimit);
  const queueMemory = chooseWithinLimit(given.queueMemoryMb, memory, given.queueMemoryLimitMb);
  const queue = {
    cpu: queueCpu,
    memory: queueMemory,
    cpuLimit: given.queueCpuLimit ?? queueCpu * 2,
    memoryLimit: given.queueMemoryLimitMb ?? queueMemory * 2,
  };
  const size = component === 'api' ? api : queue;
  return {
    requests: { cpu: formatCores(size.cpu), memory: formatMebibytes(size.memory) },
    limits: { cpu: formatCores(size.cpuLimit), memory: formatMebibytes(size.memoryLimit) },
  };
}
