import type { KubeObject } from '../../kube/kube.ts';
import {
  isPodOver,
  describeMissingClaim,
  explainRefusal,
  getPodStatus,
  type ContainerStatus,
} from './diagnose.ts';

/*
 * How a Job of ours is. The containers that are named decide, because others may stand beside them: the sidecar of a
 * mesh runs on after our work, and keeps neither a pod nor a Job open for us.
 */

export type ContainerEnd = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

/** The reason and the sentence on a Job whose pod can't be made. It goes on by itself once that is cured. */
export type JobHindrance = { reason: 'QuotaExceeded' | 'Refused'; message: string };

export type JobState =
  | { is: 'under-way' }
  /** The container that decides has ended. */
  | { is: 'ended'; end: ContainerEnd }
  /** A Secret or a volume claim is not there. */
  | { is: 'incomplete'; message: string }
  /** No end will come: the node, the Job or another container has given up. */
  | { is: 'lost'; message: string; killed?: string }
  | ({ is: 'hindered' } & JobHindrance);

/** Our containers of a Job: that which tells how it ended, the others, and those of them that may be killed unseen. */
export type JobContainers = {
  decides: string;
  others: readonly string[];
  unseen: readonly string[];
};

/** Seconds for which a Job without a pod is not suspicious: the controller of Jobs may have much to do. */
export const PODLESS_SECONDS = 30;
/** Milliseconds for which the container that decides may look on after another one was killed. */
const LOOKS_ON_MS = 60_000;

/** Returns the end of a container of a pod. Undefined while it runs. */
export function findEnd(pod: KubeObject, container: string): ContainerEnd | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = getPodStatus(pod);
  return [...initContainerStatuses, ...containerStatuses].find(({ name }) => name === container)
    ?.state?.terminated;
}

/** Returns how a Job is that has a pod. `work` is a noun for sentences. */
export function deriveJobState(
  pod: KubeObject,
  { decides, others, unseen }: JobContainers,
  { now, work }: { now: Date; work: string },
): JobState {
  const { containerStatuses = [], phase, reason, message = '' } = getPodStatus(pod);
  const end = findEnd(pod, decides);
  if (end !== undefined) return { is: 'ended', end };
  const own = containerStatuses.filter(({ name }) => name === decides || others.includes(name));
  const unconfigured = own.find(
    ({ state }) => state?.waiting?.reason === 'CreateContainerConfigError',
  );
  if (unconfigured !== undefined)
    return {
      is: 'incomplete',
      message: unconfigured.state?.waiting?.message ?? `A Secret of ${work} is not there.`,
    };
  const claim = describeMissingClaim(pod);
  if (claim !== undefined) return { is: 'incomplete', message: `${claim}.` };
  if (isPodOver(pod))
    return {
      is: 'lost',
      message: `The pod of ${work} ended as ${phase} (${[reason, message].filter(Boolean).join(': ')}).`,
    };
  const killed = unseen.find((name) => isGivenUp(findEnd(pod, name), now));
  if (killed === undefined) return { is: 'under-way' };
  const { exitCode, reason: why = 'no reason' } = findEnd(pod, killed) ?? {};
  return {
    is: 'lost',
    message: `The container ${killed} ended with ${exitCode} (${why}).`,
    killed,
  };
}

/** Returns true for a container that was killed, so that the others wait for it in vain. */
const isGivenUp = (end: ContainerEnd | undefined, now: Date): boolean =>
  end !== undefined &&
  end.exitCode !== 0 &&
  now.getTime() - Date.parse(end.finishedAt ?? now.toISOString()) >= LOOKS_ON_MS;

type JobCondition = { type: string; status: string; reason?: string; message?: string };

/** Returns how a Job ended, by its own conditions. Undefined while it is under way. */
export function findJobEnd({ status }: KubeObject): JobCondition | undefined {
  const { conditions = [] } = (status ?? {}) as { conditions?: JobCondition[] };
  return conditions.find(
    (each) => (each.type === 'Failed' || each.type === 'Complete') && each.status === 'True',
  );
}

/** Returns true for a Job that has had no pod for so long that its events are worth a look. */
export const isPodless = ({ metadata }: KubeObject, now: Date): boolean =>
  now.getTime() - Date.parse(metadata.creationTimestamp ?? now.toISOString()) >=
  PODLESS_SECONDS * 1000;

/** An event of events.k8s.io, as Kubernetes' own parts write it. */
export type JobEvent = KubeObject & {
  type?: string;
  note?: string;
  eventTime?: string | null;
  series?: { lastObservedTime?: string } | null;
  deprecatedLastTimestamp?: string | null;
};

const parseEventTime = ({
  series,
  deprecatedLastTimestamp,
  eventTime,
  metadata,
}: JobEvent): number =>
  Date.parse(
    series?.lastObservedTime ??
      deprecatedLastTimestamp ??
      eventTime ??
      metadata.creationTimestamp ??
      '',
  ) || 0;

/** Returns why a Job has no pod, in the words of its newest warning. */
export function findJobHindrance(events: readonly JobEvent[], job: string): JobHindrance {
  const [newest] = events
    .filter(({ type }) => type === 'Warning')
    .toSorted((a, b) => parseEventTime(b) - parseEventTime(a));
  if (newest?.note === undefined || newest.note === '')
    return {
      reason: 'Refused',
      message: `Job ${job} has no pod, and no event of it says why: see that Kubernetes' controllers run.`,
    };
  return explainRefusal(newest.note);
}
