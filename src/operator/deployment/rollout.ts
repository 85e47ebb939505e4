import type { OperatorSettings } from '../../config/platform/operator.ts';
import { DRAINING } from '../../schema/platform/objects/conditions.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { RELEASE } from '../../schema/platform/objects/labels.ts';
import {
  MOST_DRAINING,
  PIN_SECONDS,
  type CandidateRevision,
  type DrainingRevision,
  type RolloutStatus,
} from '../../schema/platform/rollout/rollout-spec.ts';
import { MOST_LIVING } from '../../schema/platform/rollout/pins.ts';
import type { PinnedWork } from '../../schema/wire/work-report.ts';
import type { WorkSummary } from '../../schema/wire/work-summary.ts';
import { findCondition } from '../kernel/conditions.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import { isEnded, findRevisionByName } from '../rollout/revisions.ts';
import type { ShareDecision } from './shares.ts';

export type RolloutDecision = {
  status?: RolloutStatus;
  statements: StatedCondition[];
  again?: number | undefined;
};

export type RolloutFacts = {
  revisions: RevisionResource[];
  active: string | undefined;
  /** The revision that is tried out, and the one that was given up. */
  share: ShareDecision;
  summary: WorkSummary | undefined;
  settings: OperatorSettings;
  now: Date;
};

/**
 * Seconds after which nothing new comes to a replaced revision: its api pods take requests until the Service and the
 * proxies know that they end.
 */
const SETTLE = 15;
/**
 * Seconds after which reports that do not count its work show that its agents can't: two reports bring the plan to the
 * database, and a third one counts.
 */
const UNCOUNTED = 180;
/** Seconds between two looks at the counts. */
const LOOK = 30;

/** Why a replaced revision keeps its work no longer. */
const ENDS = {
  Drained: 'it has no work left',
  PinExpired: 'it has kept them for as long as pinSeconds says',
  Released: 'somebody has asked for it',
  TooManyDraining: 'more revisions than maxDraining would keep their work',
  NotCounted: 'its agents do not count them',
} as const;
type EndReason = keyof typeof ENDS;
type Ended = DrainingRevision & { reason: EndReason };

/**
 * Decides which replaced revisions keep their work. One does from the moment that another serves until it has none
 * left, or for as long as the deployment allows. Without a gateway nobody could tell agents about it.
 */
export function decideRollout(
  deployment: DeploymentResource,
  facts: RolloutFacts,
): RolloutDecision {
  const { revisions, active, share, settings, now } = facts;
  if (settings.gateway === undefined || active === undefined) return { statements: [] };
  const { rollout: before, activeRevision: former } = deployment.status ?? {};
  const known = before?.draining ?? [];
  const isNew =
    former !== undefined && former !== active && !known.some(({ revision }) => revision === former);
  const all = [
    ...known,
    ...(isNew ? [{ revision: former, since: now.toISOString() }] : []),
    ...listJustAborted(deployment, facts),
  ]
    .filter(
      ({ revision }) => revision !== active && isPinning(findRevisionByName(revisions, revision)),
    )
    .map((draining) => applyWorkCounts(draining, facts));
  const judged = all.map((draining) => ({
    draining,
    reason: findDrainEnd(draining, deployment, facts),
  }));
  const ended = judged.flatMap(({ draining, reason }): Ended[] =>
    reason === undefined ? [] : [{ ...draining, reason }],
  );
  const staying = judged
    .filter(({ reason }) => reason === undefined)
    .map(({ draining }) => draining);
  const { maxDraining = MOST_DRAINING } = deployment.spec.rollout ?? {};
  const tooMany = staying.splice(0, Math.max(0, staying.length - maxDraining));
  ended.push(...tooMany.map((draining) => ({ ...draining, reason: 'TooManyDraining' as const })));
  const status = planRollout(before, { active, staying, share, revisions, now });
  return {
    status,
    statements: buildDrainingConditions(deployment, staying, ended, active),
    again: findSoonest(share.again, staying.length > 0 ? LOOK : undefined),
  };
}

const findSoonest = (...times: (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};

/** Returns the revision that was given up just now, if it is to finish its own work. */
function listJustAborted(
  { spec, status }: DeploymentResource,
  { share: { aborted }, now }: RolloutFacts,
): DrainingRevision[] {
  const candidate = status?.rollout?.candidate?.revision;
  if (spec.rollout?.onAbort === 'Move' || aborted === undefined || aborted.revision !== candidate)
    return [];
  return [{ revision: candidate, since: now.toISOString(), aborted: true }];
}

/** Returns true if the runs of a revision are pinned to it, and it is there to execute them. */
const isPinning = (revision: RevisionResource | undefined): boolean =>
  revision?.status?.pin !== undefined && revision.metadata.deletionTimestamp === undefined;

const findWork = ({ summary }: RolloutFacts, name: string): PinnedWork | undefined =>
  summary?.pinned?.find(({ revision }) => revision === name);

function applyWorkCounts(draining: DrainingRevision, facts: RolloutFacts): DrainingRevision {
  const work = findWork(facts, draining.revision);
  return work === undefined
    ? draining
    : { ...draining, runs: work.due + work.running + work.later, threads: work.waiting };
}

/** Returns why a revision keeps its work no longer; undefined while it does. */
function findDrainEnd(
  draining: DrainingRevision,
  deployment: DeploymentResource,
  facts: RolloutFacts,
): EndReason | undefined {
  const { revision, since } = draining;
  const { revisions, now } = facts;
  const { pinSeconds = PIN_SECONDS } = deployment.spec.rollout ?? {};
  if (findRevisionByName(revisions, revision)?.metadata.annotations?.[RELEASE] !== undefined)
    return 'Released';
  if (now.getTime() - Date.parse(since) >= pinSeconds * 1000) return 'PinExpired';
  return findReportedEnd(draining, facts);
}

/** Returns why it keeps nothing by the last report. */
function findReportedEnd(
  { revision, since, runs, threads }: DrainingRevision,
  facts: RolloutFacts,
): EndReason | undefined {
  const { summary, now } = facts;
  if (summary === undefined) return undefined;
  const reportedAfter = (now.getTime() - Date.parse(since)) / 1000 - summary.age;
  if (findWork(facts, revision) === undefined)
    return reportedAfter > UNCOUNTED ? 'NotCounted' : undefined;
  return reportedAfter > SETTLE && runs === 0 && threads === 0 ? 'Drained' : undefined;
}

type Naming = {
  active: string;
  staying: DrainingRevision[];
  share: ShareDecision;
  revisions: RevisionResource[];
  now: Date;
};

/** Returns the plan. Its time changes only with the revisions that it names, and never goes back. */
function planRollout(
  before: RolloutStatus | undefined,
  { active, staying, share: { candidate, aborted }, revisions, now }: Naming,
): RolloutStatus {
  const underWay = revisions
    .filter((revision) => !isEnded(revision))
    .map(({ metadata }) => metadata.name);
  const names = [
    active,
    ...staying.map(({ revision }) => revision),
    ...underWay.filter((name) => name !== aborted?.revision),
  ];
  const living = [...new Set(names)].slice(0, MOST_LIVING).toSorted();
  const isSame =
    before?.current === active &&
    before.living.join() === living.join() &&
    before.draining.map(({ revision }) => revision).join() ===
      staying.map(({ revision }) => revision).join() &&
    shareWords(before.candidate) === shareWords(candidate);
  const next = Math.max(now.getTime(), before === undefined ? 0 : Date.parse(before.madeAt) + 1);
  return {
    madeAt: isSame ? before.madeAt : new Date(next).toISOString(),
    current: active,
    living,
    draining: staying,
    ...(candidate && { candidate }),
    ...(aborted && { aborted }),
  };
}

/** Returns the words that agents hear of a candidate, as one text. */
const shareWords = (candidate: CandidateRevision | undefined): string =>
  candidate === undefined ? '' : [candidate.revision, candidate.share, candidate.by].join();

const count = (number: number | undefined, one: string, many: string): string =>
  number === undefined ? `an unknown number of ${many}` : `${number} ${number === 1 ? one : many}`;
const describeWork = ({ runs, threads }: DrainingRevision): string =>
  `${count(runs, 'run', 'runs')} and ${count(threads, 'waiting thread', 'waiting threads')}`;

/** States which revisions keep work, and in an event which work moves. The last move stays when none does any more. */
function buildDrainingConditions(
  deployment: DeploymentResource,
  staying: DrainingRevision[],
  ended: Ended[],
  active: string,
): StatedCondition[] {
  const status = staying.length > 0 ? 'True' : 'False';
  const kept = staying.map(
    (draining) => `Revision ${draining.revision} keeps ${describeWork(draining)}.`,
  );
  const last = ended.at(-1);
  if (last !== undefined) {
    const moved = ended.map((each) =>
      each.reason === 'Drained'
        ? `Revision ${each.revision} has no work left.`
        : `${describeWork(each)} of revision ${each.revision} continue on ${active}: ${ENDS[each.reason]}.`,
    );
    return [
      {
        type: DRAINING,
        status,
        reason: last.reason,
        message: [...moved, ...kept].join(' '),
        event: 'Normal',
      },
    ];
  }
  if (staying.length > 0)
    return [{ type: DRAINING, status, reason: 'PinnedWork', message: kept.join(' ') }];
  const before = findCondition(deployment, DRAINING);
  return before === undefined
    ? []
    : [{ type: DRAINING, status, reason: before.reason, message: before.message }];
}
