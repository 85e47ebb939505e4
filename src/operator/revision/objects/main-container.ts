import type { OperatorSettings } from '../../../config/operator.ts';
import type { RevisionResource } from '../../../schema/custom-resources.ts';
import { cores, mebibytes } from '../../kernel/quantity.ts';
import { RESTRICTED, withoutNulls } from './pod.ts';
import { replicasWanted, type WorkloadComponent, type WorkloadWish } from './workload.ts';

export const AGENT = 'agent';
const PORT = 8000;

export function mainContainer(revision: RevisionResource, wish: WorkloadWish, settings: OperatorSettings): object {
  const spec = revision.spec.template.resourceSpec ?? {};
  return {
    name: AGENT,
    image: revision.spec.template.sourceRevisionConfig?.imageUri,
    imagePullPolicy: settings.imagePullPolicy,
    ports: [{ name: 'http', containerPort: PORT, protocol: 'TCP' }],
    env: environment(revision, wish, settings),
    ...(wish.secretName !== undefined && { envFrom: [{ secretRef: { name: wish.secretName } }] }),
    resources: resources(revision, wish.component, settings),
    securityContext: { ...RESTRICTED, readOnlyRootFilesystem: true },
    ...probes,
    volumeMounts: [{ name: 'gx-tmp', mountPath: '/tmp' }, ...(spec.volumeMounts ?? []).map(withoutNulls)],
  } as object;
}

/** Explicit variables win over the user's secrets, so that no secret redirects the server to another database. */
function environment(revision: RevisionResource, { component, databaseSecret }: WorkloadWish, settings: OperatorSettings): object[] {
  const { metadata, spec } = revision;
  const text = (name: string, value: string | number): object => ({ name, value: String(value) });
  return [
    { name: 'DATABASE_URI', valueFrom: { secretKeyRef: { name: databaseSecret, key: 'uri' } } },
    text('GX_DEPLOYMENT', spec.deployment),
    text('GX_REVISION', metadata.name),
    text('GX_SERVER_HOST', '0.0.0.0'),
    text('GX_SERVER_PORT', PORT),
    text('GX_POSTGRES_POOL_MAX_SIZE', poolSize(revision, settings)),
    text('BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS', settings.drainSeconds),
    // Under both names, because the first one wins. Queue pods keep the server's default, which a secret may change.
    ...(component === 'api' ? [text('GX_JOBS_PER_WORKER', 0), text('N_JOBS_PER_WORKER', 0)] : []),
  ];
}

const RESERVED_CONNECTIONS = 10;

/** Connections of one pod, so that two revisions side by side stay below what the database takes. */
export function poolSize(revision: RevisionResource, settings: OperatorSettings): number {
  const most = revision.spec.template.resourceSpec?.dbMaxConnections ?? settings.profile.database.maxConnections;
  const pods = replicasWanted(revision, 'api', settings) + replicasWanted(revision, 'queue', settings);
  return Math.max(2, Math.min(20, Math.floor((most - RESERVED_CONNECTIONS) / (2 * Math.max(1, pods)))));
}

/** Requests as asked, limits twice that unless they are given; the queue's default to the api's. */
export function resources({ spec }: RevisionResource, component: WorkloadComponent, { profile }: OperatorSettings): object {
  const given = spec.template.resourceSpec ?? {};
  const cpu = given.cpu ?? profile.cpu;
  const memory = given.memoryMb ?? profile.memoryMb;
  const api = { cpu, memory, cpuLimit: given.cpuLimit ?? cpu * 2, memoryLimit: given.memoryLimitMb ?? memory * 2 };
  const queueCpu = given.queueCpu ?? cpu;
  const queueMemory = given.queueMemoryMb ?? memory;
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

const ok = (path: string): object => ({ httpGet: { path, port: 'http', scheme: 'HTTP' } });

/** Ready means queue and database answer; alive means the process does, so that a lost database restarts nothing. */
const probes = {
  startupProbe: { ...ok('/ok?check_db=0'), periodSeconds: 2, timeoutSeconds: 3, failureThreshold: 150 },
  readinessProbe: { ...ok('/ok'), periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 },
  livenessProbe: { ...ok('/ok?check_db=0'), periodSeconds: 15, timeoutSeconds: 10, failureThreshold: 4 },
};
