import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { ROLLOUT } from '../../schema/platform/objects/labels.ts';
import { sortRevisions } from '../../schema/platform/resources/revision-of.ts';
import { parseRolloutMove } from '../../schema/platform/rollout/rollout-move.ts';
import {
  type AbortCause,
  type AbortedRevision,
  type CandidateRevision,
  type RolloutStep,
  buildGateId,
} from '../../schema/platform/rollout/rollout-spec.ts';
import { GATE_SECONDS, parseGateInput } from '../../schema/platform/rollout/rollout-trial.ts';
import type { GateReport } from '../../schema/wire/work-report.ts';
import { isTriedOut } from '../rollout/by-share.ts';
import { findRevisionByName, isEnded } from '../rollout/revisions.ts';
import { isAsleep } from '../rollout/sleepers.ts';
import type { VerdictOnShare } from '../scale/verdict.ts';

/** Which revision is tried out, and which one was given up. */
export type ShareDecision = {
  candidate?: CandidateRevision;
  aborted?: AbortedRevision;
  /** Seconds after which the next step is due. */
  again?: number;
};

export type ShareFacts = {
  revisions: RevisionResource[];
  active: string | undefined;
  /** The revision under way whose pods are all ready. */
  complete: string | undefined;
  /** The result of its checks, where it has some and somebody has looked. */
  verdict: VerdictOnShare | undefined;
  /** The last word of its agents on its gate. */
  gate: GateReport | undefined;
  now: Date;
};

/**
 * Decides which share of the new threads a new revision gets. It goes from step to step while its pods are ready, is
 * promoted after the last one, and is given up when it fails, when somebody asks for it, or for a newer one.
 */
export function decideShare(deployment: DeploymentResource, facts: ShareFacts): ShareDecision {
  const { revisions, active, complete, now } = facts;
  const time = now.toISOString();
  const { candidate: former, aborted } = deployment.status?.rollout ?? {};
  const kept = aborted !== undefined && isRemembered(aborted, revisions) ? { aborted } : {};
  if (active === undefined || former?.revision === active) return kept;

  const begun = former ?? startTrial(deployment, facts);
  if (begun === undefined) return kept;

  const abort = findAbort(begun, deployment, facts);
  if (abort !== undefined) return { aborted: { revision: begun.revision, since: time, ...abort } };

  const { isFine, ...verdict } = summarizeChecks(begun, deployment, facts);
  const { unreadySince = time, verdict: _former, ...rest } = begun;
  const trial = { ...rest, by: getShareUnit(deployment), ...verdict };

  // Its pods stop with the deployment, and its time with them.
  if (deployment.spec.hibernate === true) {
    const gate = isAtGate(trial, deployment) && { gate: { since: time } };
    return { ...kept, candidate: { ...trial, since: time, ...gate } };
  }
  // It sleeps where no time counts. A person may still move it, which wakes the deployment.
  if (isAsleep(deployment))
    return { ...kept, candidate: applyManualMove(trial, deployment, facts) ?? trial };

  const candidate = complete === trial.revision ? trial : { ...trial, unreadySince };
  const moved = applyManualMove(candidate, deployment, facts);
  if (moved !== undefined) return { ...kept, candidate: moved };
  if (isAtGate(candidate, deployment))
    return { ...kept, ...advanceThroughGate(candidate, deployment, facts) };
  // It goes no further while some pods are not ready, or a check is not fine.
  const mayAdvance = complete === candidate.revision && isFine;
  return { ...kept, ...advanceByClock(candidate, deployment, now, mayAdvance) };
}

/**
 * Returns the name of the revision that stays where it is until somebody goes on or runs were compared, with all its
 * pods ready. A deployment may sleep meanwhile.
 */
export function findWaitingRevision(
  deployment: DeploymentResource,
  { candidate }: ShareDecision,
  facts: ShareFacts,
): string | undefined {
  if (
    candidate === undefined ||
    candidate.promoted === true ||
    candidate.unreadySince !== undefined ||
    isAtGate(candidate, deployment)
  )
    return undefined;
  const steps = getSteps(deployment);
  const step = steps[countReachedSteps(steps, candidate.share) - 1];
  const left = countStepSecondsLeft(step, candidate.since, facts.now);
  const isWaiting =
    left === Infinity || (left <= 0 && !summarizeChecks(candidate, deployment, facts).isFine);
  return isWaiting ? candidate.revision : undefined;
}

/** One that was given up is remembered until it has ended, and as long as nothing newer was asked for. */
function isRemembered({ revision: name }: AbortedRevision, revisions: RevisionResource[]): boolean {
  const revision = findRevisionByName(revisions, name);
  return revision !== undefined && (!isEnded(revision) || sortRevisions(revisions)[0] === revision);
}

/** Starts the trial of the revision whose pods are ready. Undefined: there is none that is tried out. */
function startTrial(
  deployment: DeploymentResource,
  { revisions, complete, now }: ShareFacts,
): CandidateRevision | undefined {
  const next = findRevisionByName(revisions, complete);
  // One that was given up is not tried again, though it may be under way by its own status still.
  if (
    next === undefined ||
    deployment.status?.rollout?.aborted?.revision === next.metadata.name ||
    !isTriedOut(next, deployment, revisions)
  )
    return undefined;
  const since = now.toISOString();
  const trial = { revision: next.metadata.name, by: getShareUnit(deployment), since };
  return deployment.spec.rollout?.gate === undefined
    ? { ...trial, step: 1, share: getSteps(deployment)[0]?.share ?? 0 }
    : { ...trial, step: 0, share: 0, gate: { since } };
}

/** Why a revision is tried out no longer. */
type Abort = { cause: AbortCause; message: string };

/** Finds why a revision is tried out no longer: for a reason of its own, at its gate, or by its checks. */
const findAbort = (
  candidate: CandidateRevision,
  deployment: DeploymentResource,
  facts: ShareFacts,
): Abort | undefined =>
  findEndOfRevision(candidate, facts.revisions) ??
  findGateFailure(candidate, deployment, facts) ??
  findCheckFailure(candidate, facts);

function findEndOfRevision(
  { revision: name }: CandidateRevision,
  revisions: RevisionResource[],
): Abort | undefined {
  const revision = findRevisionByName(revisions, name);
  const newest = sortRevisions(revisions)[0]?.metadata.name;
  if (revision === undefined || revision.metadata.deletionTimestamp !== undefined)
    return { cause: 'Person', message: 'Someone deleted it.' };
  if (parseRolloutMove(revision.metadata.annotations?.[ROLLOUT]) === 'abort')
    return { cause: 'Person', message: 'Someone aborted it.' };
  if (newest !== name) return { cause: 'Person', message: `Revision ${newest} takes its place.` };
  const { phase, message = 'It failed.' } = revision.status ?? {};
  if (!isEnded(revision) || phase === 'DEPLOYED') return undefined;
  const cause = phase === 'INTERRUPTED' ? 'Person' : 'Failure';
  return { cause, message: message.slice(0, 1024) };
}

/** Finds why a revision does not come through its gate. Undefined: it is not at one, or still may. */
function findGateFailure(
  candidate: CandidateRevision,
  deployment: DeploymentResource,
  { gate, now }: ShareFacts,
): Abort | undefined {
  if (!isAtGate(candidate, deployment) || candidate.promoted === true) return undefined;
  if (parseGateInput(deployment.spec.rollout!.gate!) === undefined)
    return {
      cause: 'Gate',
      message: 'The gate failed: spec.rollout.gate.input is not a JSON object.',
    };
  const { status, message = 'its run' } = findGateReport(candidate, gate) ?? {};
  if (status === 'error' || status === 'interrupted')
    return { cause: 'Gate', message: `The gate failed: ${status}, ${message}.`.slice(0, 1024) };
  if (status === 'success' || countGateSecondsLeft(candidate, deployment, now) > 0)
    return undefined;
  const seconds = getGateSeconds(deployment);
  return {
    cause: 'Gate',
    message: `The gate failed: its run did not succeed within ${seconds} s.`,
  };
}

/** Finds which check has failed, with both counts. Who promotes it by hand has decided otherwise. */
const findCheckFailure = (
  { revision, promoted }: CandidateRevision,
  { verdict }: ShareFacts,
): Abort | undefined =>
  verdict?.state === 'failed' && verdict.candidate === revision && promoted !== true
    ? { cause: 'Check', message: `A check failed: ${verdict.message}.`.slice(0, 1024) }
    : undefined;

/** Returns the result of the checks in words, if there are some, and whether the step may end for their part. */
function summarizeChecks(
  candidate: CandidateRevision,
  { spec }: DeploymentResource,
  facts: ShareFacts,
): { verdict?: string; isFine: boolean } {
  if ((spec.rollout?.checks ?? []).length === 0) return { isFine: true };
  const isAbout =
    facts.verdict?.candidate === candidate.revision && facts.verdict.share === candidate.share;
  const verdict = isAbout ? facts.verdict : undefined;
  return {
    verdict: (verdict?.message ?? 'Its runs are not counted yet.').slice(0, 1024),
    isFine: verdict?.state === 'fine',
  };
}

/** Decides by the request of a person. Undefined: there is none that changes anything. */
function applyManualMove(
  candidate: CandidateRevision,
  deployment: DeploymentResource,
  { revisions, now }: ShareFacts,
): CandidateRevision | undefined {
  const revision = findRevisionByName(revisions, candidate.revision);
  const move = parseRolloutMove(revision?.metadata.annotations?.[ROLLOUT]);
  const steps = getSteps(deployment);
  if (candidate.promoted === true || move === 'promote' || steps.length === 0)
    return { ...candidate, promoted: true };
  if (typeof move !== 'number' || move <= candidate.share) return undefined;
  const step = countReachedSteps(steps, move);
  return passGate({ ...candidate, share: move, step, since: now.toISOString() });
}

/** The first step begins once the run of the gate has succeeded, by the last word of the agents. */
function advanceThroughGate(
  candidate: CandidateRevision,
  deployment: DeploymentResource,
  { gate, now }: ShareFacts,
): ShareDecision {
  if (findGateReport(candidate, gate)?.status !== 'success')
    return { candidate, again: Math.max(1, countGateSecondsLeft(candidate, deployment, now)) };
  return startStep(passGate(candidate), getSteps(deployment), 0, now);
}

function advanceByClock(
  candidate: CandidateRevision,
  deployment: DeploymentResource,
  now: Date,
  mayAdvance: boolean,
): ShareDecision {
  const steps = getSteps(deployment);
  const step = countReachedSteps(steps, candidate.share);
  const left = countStepSecondsLeft(steps[step - 1], candidate.since, now);
  if (left > 0 || !mayAdvance)
    return {
      candidate: { ...candidate, step },
      ...(left > 0 && left < Infinity && { again: left }),
    };
  if (steps[step] === undefined) return { candidate: { ...candidate, promoted: true } };
  return startStep(candidate, steps, step, now);
}

function startStep(
  candidate: CandidateRevision,
  steps: RolloutStep[],
  at: number,
  now: Date,
): ShareDecision {
  const since = now.toISOString();
  const again = countStepSecondsLeft(steps[at], since, now);
  return {
    candidate: { ...candidate, share: steps[at]?.share ?? 0, step: at + 1, since },
    ...(again < Infinity && { again }),
  };
}

const getSteps = ({ spec }: DeploymentResource): RolloutStep[] => spec.rollout?.steps ?? [];
const getShareUnit = ({ spec }: DeploymentResource): CandidateRevision['by'] =>
  spec.rollout?.by ?? 'thread';

/** Returns the number of the step whose share is reached. A share below the first one is before it. */
const countReachedSteps = (steps: RolloutStep[], share: number): number =>
  steps.filter((step) => step.share <= share).length;

/** Returns the seconds until a step is over: of one that waits for somebody, all of time. */
const countStepSecondsLeft = (step: RolloutStep | undefined, since: string, now: Date): number =>
  step?.pause === true
    ? Infinity
    : Math.ceil((step?.seconds ?? 0) - (now.getTime() - Date.parse(since)) / 1000);

/** Returns true while the run of its gate has not succeeded. */
const isAtGate = ({ gate }: CandidateRevision, { spec }: DeploymentResource): boolean =>
  gate !== undefined && gate.passed !== true && spec.rollout?.gate !== undefined;

const passGate = (candidate: CandidateRevision): CandidateRevision =>
  candidate.gate ? { ...candidate, gate: { ...candidate.gate, passed: true } } : candidate;

/** Returns the last word of the agents, if it is about the gate that a revision is at. */
const findGateReport = (
  candidate: CandidateRevision,
  last: GateReport | undefined,
): GateReport | undefined =>
  candidate.gate !== undefined && last?.id === buildGateId(candidate, candidate.gate)
    ? last
    : undefined;

const getGateSeconds = ({ spec }: DeploymentResource): number =>
  spec.rollout?.gate?.seconds ?? GATE_SECONDS;

const countGateSecondsLeft = (
  { gate }: CandidateRevision,
  deployment: DeploymentResource,
  now: Date,
): number =>
  Math.ceil(
    getGateSeconds(deployment) -
      (now.getTime() - Date.parse(gate?.since ?? now.toISOString())) / 1000,
  );
