import type { KubeObject } from '../../../kube/kube.ts';
import { VOLUME_HAS_ROOM } from '../../../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { getPodStatus, type ContainerStatus } from '../../pods/diagnose.ts';
import { findCondition } from '../../kernel/conditions.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import { GUARD } from './guard.ts';

type Level = 'roomy' | 'nearly-full' | 'almost-full' | 'full';
type Fullness = { level: Level; used: number; size: number };

/**
 * Seconds within which a guard that has something to report has ended. It looks at once, and a node reports an end
 * within ten.
 */
const SILENCE = 30;

/**
 * Reports how full the volume is, as the guard in its pod reported when it last ended. It reports nothing while the
 * volume has room. The report of an earlier pod stays until the next guard has looked, because the volume is the same.
 */
export function buildFullnessReport(
  { status }: DeploymentResource,
  pods: KubeObject[],
  now: Date,
): {
  /** Undefined while the volume has room. */
  statement?: StatedCondition;
  /** Seconds after which a silent guard means that there is room. */
  again?: number;
} {
  const pod = pods.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  const guard = findGuard(pod);
  const reported = parseGuardReport(guard);
  if (reported !== undefined)
    return reported.level === 'roomy' ? {} : { statement: buildFullnessCondition(reported) };
  const before = findCondition({ status }, VOLUME_HAS_ROOM);
  if (before === undefined) return {};
  const silent = measureSilence(guard, now);
  if (silent >= SILENCE) return {};
  const { type, status: holds, reason, message } = before;
  return {
    statement: { type, status: holds, reason, message },
    ...(silent > 0 && { again: SILENCE - silent }),
  };
}

/** Returns true if Postgres is ready and its pod is unready only because its guard has just ended with a report. */
export const isGuardAway = (pod: KubeObject): boolean => {
  const { containerStatuses = [] } = getPodStatus(pod);
  const [away, ...others] = containerStatuses.filter(({ ready }) => ready !== true);
  return (
    pod.metadata.deletionTimestamp === undefined &&
    away?.name === GUARD &&
    others.length === 0 &&
    containerStatuses.length > 1
  );
};

/** Returns the pods without their guards, because a guard is never the reason why a database does not answer. */
export const stripGuards = (pods: KubeObject[]): KubeObject[] =>
  pods.map((pod) => {
    const { containerStatuses, ...status } = getPodStatus(pod);
    return {
      ...pod,
      status: {
        ...status,
        ...(containerStatuses && {
          containerStatuses: containerStatuses.filter(({ name }) => name !== GUARD),
        }),
      },
    };
  });

/** Returns how many bytes of the volume are used, and how many it has, if the guard in this pod has reported it. */
export function readVolumeLevel(
  pod: KubeObject | undefined,
): { used: number; size: number } | undefined {
  const reported = parseGuardReport(findGuard(pod));
  return reported && { used: reported.used, size: reported.size };
}

const findGuard = (pod: KubeObject | undefined): ContainerStatus | undefined =>
  pod && getPodStatus(pod).containerStatuses?.find(({ name }) => name === GUARD);

function parseGuardReport(guard: ContainerStatus | undefined): Fullness | undefined {
  const { message = '' } = guard?.state?.terminated ?? guard?.lastState?.terminated ?? {};
  const [, level, used, size] =
    /^(roomy|nearly-full|almost-full|full) (\d+) ([1-9]\d*)\s*$/.exec(message) ?? [];
  return level === undefined
    ? undefined
    : { level: level as Level, used: Number(used), size: Number(size) };
}

/**
 * Returns the seconds for which a guard that never ended has run. A guard that ended and whose report is lost has
 * nothing new to say.
 */
function measureSilence(guard: ContainerStatus | undefined, now: Date): number {
  const { startedAt } = guard?.state?.running ?? {};
  if (startedAt === undefined || (guard?.restartCount ?? 0) > 0) return 0;
  return Math.max(1, (now.getTime() - Date.parse(startedAt)) / 1000);
}

const GROW = 'Raise template.resourceSpec.dbStorageGi: the volume grows while the database runs.';
const WORDS: Record<Exclude<Level, 'roomy'>, { reason: string; remedy: string }> = {
  'nearly-full': { reason: 'NearlyFull', remedy: GROW },
  'almost-full': {
    reason: 'AlmostFull',
    remedy: `${GROW} The database becomes read-only before the volume is full.`,
  },
  full: {
    reason: 'Full',
    remedy: `The database is read-only until there is room, so that it keeps answering. ${GROW}`,
  },
};

function buildFullnessCondition({ level, used, size }: Fullness): StatedCondition {
  const { reason, remedy } = WORDS[level as keyof typeof WORDS];
  const [inUse, all] = [used, size].map((bytes) => (bytes / 2 ** 30).toFixed(1));
  const message = `The database's volume was ${Math.floor((100 * used) / size)} % full when this was last reported (${inUse} of ${all} Gi). ${remedy}`;
  return { type: VOLUME_HAS_ROOM, status: 'False', reason, message, event: 'Warning' };
}
