import type { OperatorSettings } from '../../../config/operator.ts';
import type { RevisionResource } from '../../../schema/custom-resources.ts';
import type { DatabaseAddress } from '../../database/address.ts';
import { cores, mebibytes } from '../../kernel/quantity.ts';

export type WorkloadComponent = 'api' | 'queue';

export type WorkloadWish = {
  component: WorkloadComponent;
  /** Undefined: somebody else's. */ replicas: number | undefined;
  secretName: string | undefined;
  address: DatabaseAddress;
  /** As REST shows it. */
  deploymentId: string;
  image: string | undefined;
};

/** A revision, or the deployment whose template it copies. */
export type Templated = { spec: Pick<RevisionResource['spec'], 'template'> };

/** What is asked for, else the default where the limit that is asked for allows as much. */
export const within = (asked: number | undefined, otherwise: number, limit = Infinity): number => asked ?? Math.min(otherwise, limit);

/** Replicas the spec asks for: `queue_*` defaults to the api's. */
export function replicasWanted({ spec }: Templated, component: WorkloadComponent, { profile }: OperatorSettings): number {
  const { minScale, maxScale, queueMinScale, queueMaxScale } = spec.template.resourceSpec ?? {};
  const api = within(minScale, profile.replicas, maxScale);
  return component === 'api' ? api : within(queueMinScale, api, queueMaxScale);
}

/** Replicas up to which others, an autoscaler or a person, may scale it; the very size of the spec where it names no range. */
export function replicasAllowed(revision: Templated, component: WorkloadComponent, settings: OperatorSettings): number {
  const least = replicasWanted(revision, component, settings);
  const { maxScale = least, queueMaxScale = maxScale } = revision.spec.template.resourceSpec ?? {};
  return Math.max(least, component === 'api' ? maxScale : queueMaxScale);
}

/** Requests as asked, limits twice that unless they are given; the queue's default to the api's. */
export function resources({ spec }: RevisionResource, component: WorkloadComponent, { profile }: OperatorSettings): object {
  const given = spec.template.resourceSpec ?? {};
  const cpu = within(given.cpu, profile.cpu, given.cpuLimit);
  const memory = within(given.memoryMb, profile.memoryMb, given.memoryLimitMb);
  const api = { cpu, memory, cpuLimit: given.cpuLimit ?? cpu * 2, memoryLimit: given.memoryLimitMb ?? memory * 2 };
  const queueCpu = within(given.queueCpu, cpu, given.queueCpuLimit);
  const queueMemory = within(given.queueMemoryMb, memory, given.queueMemoryLimitMb);
  const queue = {
    cpu: queueCpu,
    memory: queueMemory,
    cpuLimit: given.queueCpuLimit ?? queueCpu * 2,
    memoryLimit: given.queueMemoryLimitMb ?? queueMemory * 2,
  };
  const size = component === 'api' ? api : queue;
  return {
    requests: { cpu: cores(size.cpu), memory: mebibytes(size.memory) },
    limits: { cpu: cores(size.cpuLimit), memory: mebibytes(size.memoryLimit) },
  };
}
