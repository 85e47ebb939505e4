import { EXIT } from '../../errors.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { AGENT_CONTAINER } from '../../schema/names.ts';
import type { FailureReason } from '../../schema/platform/deployment/statuses.ts';
import { explainStartFailure } from './start-causes.ts';
import { findReplicaFailure } from './workload-state.ts';

/** The reason why pods are not ready. It is `final` if waiting longer will not help. */
export type Diagnosis = {
  reason: FailureReason;
  message: string;
  final: boolean;
  /** Every start looks like this for so many seconds at most, so it is reported only after that. */
  early?: number;
  /** Seconds after which it becomes final by itself. */
  again?: number;
  /** The container whose log says more; `previous` when it has been restarted since. */
  log?: { pod: string; container: string; previous: boolean; namespace?: string | undefined };
};

type State = { reason?: string; message?: string; exitCode?: number; finishedAt?: string | null };
export type ContainerStatus = {
  name: string;
  image?: string;
  imageID?: string;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  state?: { waiting?: State; terminated?: State; running?: { startedAt?: string } };
  lastState?: { terminated?: State };
};
type PodCondition = {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
};
export type PodStatus = {
  phase?: string;
  /** Why a node gave up the pod, if one did. */
  reason?: string;
  message?: string;
  conditions?: PodCondition[];
  containerStatuses?: ContainerStatus[];
  initContainerStatuses?: ContainerStatus[];
};

export type Patience = {
  now: number;
  /** Seconds for which pulls of an image may fail. */
  imagePullSeconds: number;
  /** When ends of pods stop being excused, in milliseconds since the epoch. Something was missing before. */
  excusedUntil?: number | undefined;
  /** The place and the volume that the pods ask for, as a sentence, for pods that no node takes. */
  asked?: string | undefined;
};

/** Restarts after which a container that exits again counts as broken. */
const RESTARTS = 3;
const HOPELESS_PULL = ['InvalidImageName', 'ErrImageNeverPull'];
/** Reasons why a node can't run a container that exists or nearly does. */
const CANT_START = [
  'CreateContainerError',
  'RunContainerError',
  'PreCreateHookError',
  'PreStartHookError',
  'PostStartHookError',
];
const NEVER_STARTED = ['StartError', 'ContainerCannotRun'];
const PULL = [
  'ImagePullBackOff',
  'ErrImagePull',
  'ImageInspectError',
  'RegistryUnavailable',
  ...HOPELESS_PULL,
];

export const getPodStatus = (pod: KubeObject): PodStatus =>
  (pod.status as PodStatus | undefined) ?? {};

const findReadyCondition = (pod: KubeObject): PodCondition | undefined =>
  getPodStatus(pod).conditions?.find(({ type, status }) => type === 'Ready' && status === 'True');

export const isPodReady = (pod: KubeObject): boolean => findReadyCondition(pod) !== undefined;

/**
 * Returns when the pod became ready, in milliseconds since the epoch. Undefined if it is not ready or nothing says
 * when.
 */
export function getReadySince(pod: KubeObject): number | undefined {
  const since = findReadyCondition(pod)?.lastTransitionTime;
  return since === undefined ? undefined : Date.parse(since);
}

/** Returns true if the pod has ended, by itself or not. It stays in the list of pods until somebody removes it. */
export const isPodOver = (pod: KubeObject): boolean =>
  ['Failed', 'Succeeded'].includes(getPodStatus(pod).phase ?? '');

/** Returns true if a container can't be started because a Secret or a key is missing. */
export const isUnconfigured = (pod: KubeObject): boolean => {
  const { containerStatuses = [], initContainerStatuses = [] } = getPodStatus(pod);
  return [...initContainerStatuses, ...containerStatuses].some(
    ({ state }) => state?.waiting?.reason === 'CreateContainerConfigError',
  );
};

/** Returns the scheduler's words on a volume claim of a pod that is not there. */
export function describeMissingClaim(pod: KubeObject): string | undefined {
  const { conditions = [] } = getPodStatus(pod);
  const { message = '' } =
    conditions.find(({ type, status }) => type === 'PodScheduled' && status === 'False') ?? {};
  return /persistentvolumeclaim "[^"]*" (not found|is being deleted)/.exec(message)?.[0];
}

/** Returns true if all containers run, whether or not they are ready. */
export const isPodUp = (pod: KubeObject): boolean => {
  const { containerStatuses = [] } = getPodStatus(pod);
  return (
    containerStatuses.length > 0 &&
    containerStatuses.every(
      ({ started, state }) => started === true && state?.running !== undefined,
    )
  );
};

/** Returns the worst thing that is wrong with a workload and its pods. Undefined if they only need time. */
export function findWorstDiagnosis(
  workload: KubeObject | undefined,
  pods: KubeObject[],
  patience: Patience,
): Diagnosis | undefined {
  // A pod that a node gave up has a successor, which shows more.
  const found = pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .toSorted(
      (a, b) =>
        Number(isPodOver(a)) - Number(isPodOver(b)) || (a.metadata.name < b.metadata.name ? -1 : 1),
    )
    .flatMap((pod) => (isPodOver(pod) ? checkEviction(pod) : checkPod(pod, patience)) ?? []);
  return found.find(({ final }) => final) ?? found[0] ?? checkWorkload(workload);
}

/** Reports pods that were never made: a quota or an admission rule refused them. */
function checkWorkload(workload: KubeObject | undefined): Diagnosis | undefined {
  const message = findReplicaFailure(workload);
  return message === undefined ? undefined : { ...explainRefusal(message), final: false };
}

/** Returns the reason and the sentence for pods that were never made, by the API server's words. */
export function explainRefusal(words: string): {
  reason: 'QuotaExceeded' | 'Refused';
  message: string;
} {
  return words.includes('exceeded quota')
    ? {
        reason: 'QuotaExceeded',
        message: `The namespace's quota leaves no room for a pod: ${words}`,
      }
    : { reason: 'Refused', message: `The cluster refuses the pods: ${words}` };
}

/** Reports a pod that its node evicted or refused. It does not report one that ended by itself. */
function checkEviction(pod: KubeObject): Diagnosis | undefined {
  const { phase, reason, message = '' } = getPodStatus(pod);
  if (phase !== 'Failed' || reason === undefined) return undefined;
  return {
    reason: 'Unschedulable',
    message: `The node ended the pod (${reason}): ${message}`,
    final: false,
  };
}

function checkPod(pod: KubeObject, patience: Patience): Diagnosis | undefined {
  const { conditions = [], containerStatuses = [], initContainerStatuses = [] } = getPodStatus(pod);
  const unscheduled = conditions.find(
    ({ type, status, reason }) =>
      type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable',
  );
  if (unscheduled !== undefined) {
    const message = [`No node takes the pod: ${unscheduled.message ?? ''}`, patience.asked]
      .filter(Boolean)
      .join(' ');
    return { reason: 'Unschedulable', message, final: false };
  }
  for (const container of [...initContainerStatuses, ...containerStatuses]) {
    const diagnosis = checkContainer(pod, container, patience);
    if (diagnosis?.reason === 'ProbeFailed' && initContainerStatuses.includes(container))
      return {
        ...diagnosis,
        reason: 'DeadlineExceeded',
        message: `Init container ${container.name} is running, and has neither ended nor become ready.`,
      };
    if (diagnosis !== undefined) return diagnosis;
  }
  return checkUnmade(pod, patience);
}

const measureAge = ({ metadata }: KubeObject, { now }: Patience): number =>
  (now - Date.parse(metadata.creationTimestamp ?? '')) / 1000;

/** Returns the first container if it is still waiting to be made. Those after it wait for it. */
function findUnmadeContainer(pod: KubeObject): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = getPodStatus(pod);
  const [first] = [...initContainerStatuses, ...containerStatuses];
  return ['ContainerCreating', 'PodInitializing'].includes(first?.state?.waiting?.reason ?? '')
    ? first
    : undefined;
}

/** Returns true if none of its containers has been made, because a volume or the network is missing. */
export const isWaitingForVolumes = (pod: KubeObject): boolean =>
  findUnmadeContainer(pod) !== undefined && pod.metadata.deletionTimestamp === undefined;

/** Reports a pod whose containers are not made. Only events say that volumes or the network are missing. */
function checkUnmade(pod: KubeObject, patience: Patience): Diagnosis | undefined {
  const waiting = findUnmadeContainer(pod);
  if (waiting === undefined) return undefined;
  const message = `Container ${waiting.name} waits for a volume or for the network: the events of pod ${pod.metadata.name} name the cause.`;
  return { reason: 'DeadlineExceeded', message, final: false, early: measureAge(pod, patience) };
}

function checkContainer(
  pod: KubeObject,
  container: ContainerStatus,
  patience: Patience,
): Diagnosis | undefined {
  const waitingFor = container.state?.waiting?.reason ?? '';
  if (PULL.includes(waitingFor)) return pullFailed(pod, container, patience);
  if (CANT_START.includes(waitingFor))
    return describeNotStarted(container, container.state?.waiting?.message);
  return waitingFor === 'CreateContainerConfigError'
    ? describeNotConfigured(container)
    : checkRun(pod, container, patience);
}

function checkRun(
  pod: KubeObject,
  container: ContainerStatus,
  patience: Patience,
): Diagnosis | undefined {
  const { state, restartCount = 0, ready } = container;
  const ended = findFailedEnd(container);
  if (NEVER_STARTED.includes(ended?.reason ?? ''))
    return describeNotStarted(container, ended?.message);
  if (ended !== undefined && !isExcused(ended, patience))
    return describeCrash(pod, container, { ended, restarts: restartCount });
  return state?.running !== undefined && ready === false
    ? describeNotReady(pod, container, patience)
    : undefined;
}

/**
 * Returns true for an end that may be due to a missing database, so that it does not count. The API server answers null
 * for a time that nobody reported.
 */
const isExcused = ({ reason, finishedAt }: State, { now, excusedUntil }: Patience): boolean =>
  excusedUntil !== undefined &&
  reason !== 'OOMKilled' &&
  (finishedAt ? Date.parse(finishedAt) : now) <= excusedUntil;

/**
 * Returns the failed end of a container. One that exits with 0 again and again, though it should keep running, is
 * broken too.
 */
function findFailedEnd({ state, lastState }: ContainerStatus): State | undefined {
  const end = state?.terminated ?? lastState?.terminated;
  return state?.waiting?.reason === 'CrashLoopBackOff' || (end?.exitCode ?? 0) !== 0
    ? end
    : undefined;
}

const describeNotStarted = (
  { name, restartCount = 0 }: ContainerStatus,
  reported = '',
): Diagnosis => ({
  reason: 'CrashLooping',
  message: explainStartFailure(`Container ${name} can't be started: ${reported}`),
  final: restartCount >= RESTARTS,
});

function pullFailed(
  pod: KubeObject,
  { name, image, state }: ContainerStatus,
  patience: Patience,
): Diagnosis {
  const { imagePullSeconds } = patience;
  const age = measureAge(pod, patience);
  const hopeless = HOPELESS_PULL.includes(state?.waiting?.reason ?? '');
  const final = hopeless || age > imagePullSeconds;
  const reported =
    final && state?.waiting?.message !== undefined ? `: ${state.waiting.message}` : '';
  const message = `The image ${image ?? ''} of container ${name} can't be pulled${reported}`;
  return {
    reason: 'ImagePullFailed',
    message,
    final,
    ...(!final && { again: imagePullSeconds - age + 1 }),
  };
}

function describeNotConfigured({ name, state }: ContainerStatus): Diagnosis {
  const reported = state?.waiting?.message ?? '';
  // The message is "container has runAsNonRoot and image will run as root" or "... has non-numeric user". Time changes
  // no image.
  if (reported.includes('runAsNonRoot'))
    return {
      reason: 'Refused',
      message: `Container ${name} may not run: ${reported}`,
      final: true,
    };
  return {
    reason: 'SecretMissing',
    message: `Container ${name} can't be configured: ${reported}`,
    final: false,
  };
}

function describeCrash(
  pod: KubeObject,
  { name, state }: ContainerStatus,
  { ended, restarts }: { ended: State; restarts: number },
): Diagnosis {
  const final = restarts >= RESTARTS;
  const log = {
    pod: pod.metadata.name,
    container: name,
    previous: state?.terminated === undefined,
  };
  if (ended.reason === 'OOMKilled')
    return {
      reason: 'OOMKilled',
      message: `Container ${name} needs more memory than its limit.`,
      final,
      log,
    };
  if (name === AGENT_CONTAINER && ended.exitCode === EXIT.migration) {
    return {
      reason: 'MigrationFailed',
      message: `Container ${name} could not bring the database to its version.`,
      final,
      log,
    };
  }
  // It is not final, because it ends when the database comes back.
  if (name === AGENT_CONTAINER && ended.exitCode === EXIT.database) {
    return {
      reason: 'DatabaseNotReady',
      message: `Container ${name} can't reach its database.`,
      final: false,
      log,
    };
  }
  const how = `Container ${name} ends with exit code ${ended.exitCode} again and again`;
  return {
    reason: 'CrashLooping',
    message: explainStartFailure(
      [how, trimToLastLines(ended)].filter(Boolean).join(': ').replace(/\.?$/, '.'),
    ),
    final,
    log,
  };
}

/**
 * Returns the last two lines of a container's termination message. An error of Postgres takes one line, and its detail
 * another.
 */
const trimToLastLines = ({ message = '' }: State): string =>
  message.trim().split('\n').slice(-2).join(' ').slice(0, 500);

const describeNotReady = (
  pod: KubeObject,
  { name }: ContainerStatus,
  patience: Patience,
): Diagnosis => ({
  reason: 'ProbeFailed',
  message: `Container ${name} is running, but does not answer its readiness probe.`,
  final: false,
  early: measureAge(pod, patience),
  log: { pod: pod.metadata.name, container: name, previous: false },
});
