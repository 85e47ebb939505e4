import { EXIT } from '../errors.ts';
import type { KubeObject } from '../kube/kube.ts';
import type { FailureReason } from '../schema/revision.ts';

/** What keeps pods from being ready. `final`: waiting longer will not help. */
export type Diagnosis = {
  reason: FailureReason;
  message: string;
  final: boolean;
  /** Every start looks like this for a while: told only when time is up. */
  early?: boolean;
  /** Seconds after which it becomes final by itself. */
  again?: number;
  /** Whose log tells more; `previous` when the container has been restarted since. */
  log?: { pod: string; container: string; previous: boolean };
};

type State = { reason?: string; message?: string; exitCode?: number };
type ContainerStatus = {
  name: string;
  image?: string;
  imageID?: string;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  state?: { waiting?: State; terminated?: State; running?: object };
  lastState?: { terminated?: State };
};
type PodCondition = { type: string; status: string; reason?: string; message?: string };
export type PodStatus = {
  phase?: string;
  conditions?: PodCondition[];
  containerStatuses?: ContainerStatus[];
  initContainerStatuses?: ContainerStatus[];
};

export type Patience = {
  now: number;
  /** Seconds an image may fail to be pulled. */
  imagePullSeconds: number;
};

/** Restarts after which a container that ends again is taken for broken. */
const RESTARTS = 3;
const HOPELESS_PULL = ['InvalidImageName', 'ErrImageNeverPull'];
const PULL = ['ImagePullBackOff', 'ErrImagePull', 'ImageInspectError', 'RegistryUnavailable', ...HOPELESS_PULL];

export const statusOfPod = (pod: KubeObject): PodStatus => (pod.status as PodStatus | undefined) ?? {};

export const isPodReady = (pod: KubeObject): boolean =>
  statusOfPod(pod).conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

/** All its containers have started and run, whether or not they are ready. */
export const isPodUp = (pod: KubeObject): boolean => {
  const { containerStatuses = [] } = statusOfPod(pod);
  return containerStatuses.length > 0 && containerStatuses.every(({ started, state }) => started === true && state?.running !== undefined);
};

/** The first thing wrong with a workload and its pods, worst first; undefined when they only need time (pure). */
export function diagnose(workload: KubeObject | undefined, pods: KubeObject[], patience: Patience): Diagnosis | undefined {
  const found = pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .flatMap((pod) => diagnosePod(pod, patience) ?? []);
  return found.find(({ final }) => final) ?? found[0] ?? diagnoseWorkload(workload);
}

type WorkloadCondition = { type: string; status: string; message?: string };

/** Pods that were never made: a quota, or an admission rule. */
function diagnoseWorkload(workload: KubeObject | undefined): Diagnosis | undefined {
  const { conditions = [] } = (workload?.status as { conditions?: WorkloadCondition[] } | undefined) ?? {};
  const failure = conditions.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True');
  if (failure === undefined) return undefined;
  const message = failure.message ?? '';
  const isQuota = message.includes('exceeded quota');
  return {
    reason: isQuota ? 'QuotaExceeded' : 'Refused',
    message: isQuota ? `The namespace's quota leaves no room for a pod: ${message}` : `The cluster refuses the pods: ${message}`,
    final: false,
  };
}

function diagnosePod(pod: KubeObject, patience: Patience): Diagnosis | undefined {
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = statusOfPod(pod);
  const unscheduled = conditions.find(
    ({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable',
  );
  if (unscheduled !== undefined) {
    return { reason: 'Unschedulable', message: `No node takes the pod: ${unscheduled.message ?? ''}`, final: false };
  }
  for (const container of [...initContainerStatuses, ...containerStatuses]) {
    const diagnosis = diagnoseContainer(pod, container, patience);
    if (diagnosis !== undefined) return diagnosis;
  }
  return undefined;
}

function diagnoseContainer(pod: KubeObject, container: ContainerStatus, patience: Patience): Diagnosis | undefined {
  const waitingFor = container.state?.waiting?.reason ?? '';
  if (PULL.includes(waitingFor)) return pullFailed(pod, container, patience);
  return waitingFor === 'CreateContainerConfigError' ? configMissing(container) : diagnoseRun(pod, container);
}

function diagnoseRun(pod: KubeObject, container: ContainerStatus): Diagnosis | undefined {
  const { state, lastState, restartCount = 0, ready } = container;
  const ended = failedEnd(state?.terminated ?? lastState?.terminated);
  if (ended !== undefined) return crashed(pod, container, { ended, restarts: restartCount });
  return state?.running !== undefined && ready === false ? notReady(pod, container) : undefined;
}

const failedEnd = (end: State | undefined): State | undefined => ((end?.exitCode ?? 0) === 0 ? undefined : end);

function pullFailed(pod: KubeObject, { name, image, state }: ContainerStatus, { now, imagePullSeconds }: Patience): Diagnosis {
  const age = (now - Date.parse(pod.metadata.creationTimestamp ?? '')) / 1000;
  const hopeless = HOPELESS_PULL.includes(state?.waiting?.reason ?? '');
  const final = hopeless || age > imagePullSeconds;
  const said = final && state?.waiting?.message !== undefined ? `: ${state.waiting.message}` : '';
  const message = `The image ${image ?? ''} of container ${name} can't be pulled${said}`;
  return { reason: 'ImagePullFailed', message, final, ...(!final && { again: imagePullSeconds - age + 1 }) };
}

function configMissing({ name, state }: ContainerStatus): Diagnosis {
  const said = state?.waiting?.message ?? '';
  return { reason: 'SecretMissing', message: `Container ${name} can't be configured: ${said}`, final: false };
}

function crashed(pod: KubeObject, { name, state }: ContainerStatus, { ended, restarts }: { ended: State; restarts: number }): Diagnosis {
  const final = restarts >= RESTARTS;
  const log = { pod: pod.metadata.name, container: name, previous: state?.terminated === undefined };
  if (ended.reason === 'OOMKilled')
    return { reason: 'OOMKilled', message: `Container ${name} needs more memory than its limit.`, final, log };
  if (ended.exitCode === EXIT.migration) {
    return { reason: 'MigrationFailed', message: `Container ${name} could not bring the database to its version.`, final, log };
  }
  // Not final: a database that comes back ends it.
  if (ended.exitCode === EXIT.database) {
    return { reason: 'DatabaseNotReady', message: `Container ${name} can't reach its database.`, final: false, log };
  }
  return { reason: 'CrashLooping', message: `Container ${name} ends with exit code ${ended.exitCode} again and again.`, final, log };
}

const notReady = (pod: KubeObject, { name }: ContainerStatus): Diagnosis => ({
  reason: 'ProbeFailed',
  message: `Container ${name} runs, but does not answer its readiness probe.`,
  final: false,
  early: true,
  log: { pod: pod.metadata.name, container: name, previous: false },
});
