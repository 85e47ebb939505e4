import { DATABASE_READY, SUSPENDED } from '../../schema/platform/objects/conditions.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import type { CandidateRevision } from '../../schema/platform/rollout/rollout-spec.ts';
import { findCondition } from '../kernel/conditions.ts';
import { planScaleDown } from './beside-serving.ts';
import type { Decision } from './decision.ts';
import type { RevisionWorld, Situation } from './world.ts';

/**
 * Returns true if the revision was suspended until now, as its status still says. That time does not count against it.
 */
export const hasBeenPaused = (revision: RevisionResource): boolean =>
  findCondition(revision, SUSPENDED) !== undefined;

/** Returns the seconds for which some pods of a revision that is tried out are not ready. */
const countUnreadySeconds = ({ unreadySince }: CandidateRevision, now: Date): number =>
  unreadySince === undefined ? 0 : (now.getTime() - Date.parse(unreadySince)) / 1000;

/**
 * Returns the seconds that a revision has left before it has failed. They count from the end of its build or of the
 * restore of its database if it has one, and only while an operator worked. Of one that is tried out, only the time
 * counts in which its pods are not ready.
 */
export function countRevisionSecondsLeft({
  revision,
  world,
  settings,
}: {
  revision: RevisionResource;
  world: Pick<RevisionWorld, 'deployment' | 'absences' | 'now' | 'candidate'>;
  settings: Situation['settings'];
}): number {
  const limit = world.deployment?.spec.progressDeadlineSeconds ?? settings.progressDeadlineSeconds;
  if (world.candidate !== undefined) return limit - countUnreadySeconds(world.candidate, world.now);
  const { builtAt, startedAt = world.now.toISOString() } = hasBeenPaused(revision)
    ? {}
    : (revision.status ?? {});
  const restored = Date.parse(world.deployment?.status?.restoredAt ?? '') || 0;
  const span = {
    from: Math.max(Date.parse(builtAt ?? startedAt), restored),
    to: world.now.getTime(),
  };
  const alone = world.absences.map((absence) =>
    Math.max(0, Math.min(span.to, absence.to) - Math.max(span.from, absence.from)),
  );
  return limit - (span.to - span.from - alone.reduce((sum, length) => sum + length, 0)) / 1000;
}

/** Returns the deployment's message about its database, if the database is why the revision failed. */
const listDatabaseTrouble = ({ reason }: Decision, { world }: Situation): string[] =>
  reason === 'DatabaseNotReady'
    ? [findCondition(world.deployment ?? {}, DATABASE_READY)?.message ?? ''].filter(Boolean)
    : [];

const describeFailure = (
  decision: Decision,
  situation: Situation,
): { reason: string; message: string } => ({
  reason: decision.reason ?? 'DeadlineExceeded',
  message: [decision.message, ...listDatabaseTrouble(decision, situation)].join(' '),
});

/** Returns why a quota has refused one of its workloads until now; only the status knows. */
function describeQuotaRefusal(
  { wish }: Decision,
  { revision, world }: Situation,
): { reason: string; message: string } | undefined {
  const { reason, message = '' } = revision.status ?? {};
  const isMissing = (['api', 'queue'] as const).some(
    (component) => wish[component] !== undefined && world[component] === undefined,
  );
  return isMissing && reason === 'QuotaExceeded' ? { reason, message } : undefined;
}

/** Fails a rollout that is late or can't succeed, and removes its pods. */
export function applyDeadline(decision: Decision, situation: Situation): Decision {
  if (decision.complete || decision.phase === 'CREATE_FAILED') return decision;
  const { diagnosis } = decision;
  const isLate = countRevisionSecondsLeft(situation) <= 0;
  if (!isLate && diagnosis?.final !== true) return decision;
  const { reason, message } =
    diagnosis ?? describeQuotaRefusal(decision, situation) ?? describeFailure(decision, situation);
  return {
    ...decision,
    phase: 'DEPLOY_FAILED',
    reason,
    message: isLate ? `Not ready in time. ${message}` : message,
    wish: planScaleDown(situation.world),
  };
}
