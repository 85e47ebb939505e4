import type { Builder } from '../../../config/platform/builder.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { Diagnosis } from '../../pods/diagnose.ts';
import { findJobEnd } from '../../pods/job-state.ts';
import { buildIdleDecision, type Decision } from '../decision.ts';
import type { BuildSituation } from './observe.ts';

/** Seconds after which a Job without a pod is looked at again: nothing watches Jobs. */
export const LOOK_FOR_POD = 5;

/** The status first stores the image. The next reconcile makes its pods. */
export const NEXT = { started: true, again: 1 };

/** Decides that a build has failed. */
export const buildFailed = (
  diagnosis: Omit<Diagnosis, 'final'>,
  more: Partial<Decision> = {},
): Decision =>
  buildIdleDecision('BUILD_FAILED', diagnosis.message, {
    reason: diagnosis.reason,
    diagnosis: { ...diagnosis, final: true },
    ...more,
  });

/** Returns the seconds that a build's pod or Job has left, from its creation. */
export const buildSecondsLeft = (
  { metadata }: KubeObject,
  { deadlineSeconds }: Builder,
  { world }: BuildSituation,
): number =>
  deadlineSeconds -
  (world.now.getTime() - Date.parse(metadata.creationTimestamp ?? world.now.toISOString())) / 1000;

/** Seconds that volumes and the network of a pod may take before it is reported. */
const EARLY = 60;

export function decidePodStarting(found: Diagnosis | undefined, left: number): Decision {
  const early = EARLY - (found?.early ?? EARLY);
  const trouble = early > 0 ? undefined : found;
  return buildIdleDecision('AWAITING_BUILD', trouble?.message ?? "The build's pod is starting.", {
    again: Math.min(left, found?.again ?? left, early > 0 ? early : left),
    ...(trouble && { reason: trouble.reason }),
  });
}

/** Returns whether a Job of a build has ended, whichever way. */
export const isJobOver = (job: KubeObject): boolean => findJobEnd(job) !== undefined;

/** Decides by the Job, if it has no pod yet or its pod went before anybody read the result. */
export function decideByJob(
  job: KubeObject,
  builder: Builder,
  situation: BuildSituation,
): Decision {
  const end = findJobEnd(job);
  if (end?.reason === 'DeadlineExceeded')
    return buildFailed({
      reason: 'DeadlineExceeded',
      message: `The build did not end within ${builder.deadlineSeconds} seconds.`,
    });
  if (end !== undefined)
    return buildFailed({
      reason: 'Interrupted',
      message: "The build's pod is gone, and its result is lost.",
    });
  const left = buildSecondsLeft(job, builder, situation);
  const { hindrance } = situation.world.build ?? {};
  const message =
    hindrance?.message ?? `The build has no pod yet: its Job is ${job.metadata.name}.`;
  if (left <= 0)
    return buildFailed(
      { reason: hindrance?.reason ?? 'DeadlineExceeded', message },
      { build: 'drop' },
    );
  const reason = hindrance && { reason: hindrance.reason };
  return buildIdleDecision('AWAITING_BUILD', message, {
    again: Math.min(LOOK_FOR_POD, left),
    ...reason,
  });
}
