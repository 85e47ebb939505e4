import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/custom-resources.ts';
import { ROLLOUT } from '../../schema/platform/labels.ts';
import { sortRevisions } from '../../schema/platform/revision-of.ts';
import { parseRolloutMove } from '../../schema/platform/rollout-move.ts';
import {
  type AbortCause,
  type AbortedRevision,
  type CandidateRevision,
  type RolloutStep,
  buildGateId,
} from '../../schema/platform/rollout-spec.ts';
import type { GateReport } from '../../schema/wire/work-report.ts';
import { isTriedOut } from '../rollout/by-share.ts';
import { isEnded, findRevisionByName } from '../rollout/revisions.ts';
import { isAsleep } from '../rollout/sleepers.ts';
import type { VerdictOnShare } from '../scale/verdict.ts';
import { GATE_SECONDS, parseGateInput } from '../../schema/platform/rollout-trial.ts';

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
  const { candidate: before, aborted: former } = deployment.status?.rollout ?? {};
  const kept = former !== undefined && isRemembered(former, revisions) ? { aborted: former } : {};
  if (active === undefined || before?.revision === active) return kept;
  if (before !== undefined) return decideTrialStep(before, { deployment, facts, kept });
  const next = findRevisionByName(revisions, complete);
  if (next === undefined || !mayBeTried(next, { deployment, facts })) return kept;
  return decideTrialStep(startTrial(deployment, { next, now }), { deployment, facts, kept });
}

/** One that was given up is not tried again, though it may be under way by its own status still. */
const mayBeTried = (
  next: RevisionResource,
  { deployment, facts: { revisions } }: Stepping,
): boolean =>
  deployment.status?.rollout?.aborted?.revision !== next.metadata.name &&
  isTriedOut(next, deployment, revisions);

type Stepping = { deployment: DeploymentResource; facts: ShareFacts };

function decideTrialStep(
  before: CandidateRevision,
  { kept, ...stepping }: Stepping & { kept: ShareDecision },
): ShareDecision {
  const { revisions, now } = stepping.facts;
  const end =
    findAbortCause(before, revisions) ??
    buildAbort(
      'Gate',
      explainFailedGate(before, { ...stepping.facts, deployment: stepping.deployment }),
    ) ??
    buildAbort('Check', explainFailedCheck(before, stepping));
  if (end !== undefined)
    return { aborted: { revision: before.revision, since: now.toISOString(), ...end } };
  return { ...kept, ...advanceTrial(before, stepping) };
}

/** One that was given up is remembered until it has ended, and as long as nothing newer was asked for. */
function isRemembered({ revision: name }: AbortedRevision, revisions: RevisionResource[]): boolean {
  const revision = findRevisionByName(revisions, name);
  return revision !== undefined && (!isEnded(revision) || sortRevisions(revisions)[0] === revision);
}

const getSteps = ({ spec }: DeploymentResource): RolloutStep[] => spec.rollout?.steps ?? [];
const getShareUnit = ({ spec }: DeploymentResource): CandidateRevision['by'] =>
  spec.rollout?.by ?? 'thread';

function startTrial(
  deployment: DeploymentResource,
  { next, now }: { next: RevisionResource; now: Date },
): CandidateRevision {
  const since = now.toISOString();
  const known = { revision: next.metadata.name, by: getShareUnit(deployment), since };
  if (deployment.spec.rollout?.gate !== undefined)
    return { ...known, step: 0, share: 0, gate: { since } };
  return { ...known, step: 1, share: getSteps(deployment)[0]?.share ?? 0 };
}

/** Returns which check has failed, with both counts. Who promotes it by hand has decided otherwise. */
const explainFailedCheck = (
  { revision, promoted }: CandidateRevision,
  { facts: { verdict } }: Stepping,
): string | undefined =>
  verdict?.state === 'failed' && verdict.candidate === revision && promoted !== true
    ? `A check failed: ${verdict.message}.`.slice(0, 1024)
    : undefined;

type Abort = { cause: AbortCause; message: string };
const buildAbort = (cause: AbortCause, message: string | undefined): Abort | undefined =>
  message === undefined ? undefined : { cause, message };

/** Returns why a revision is tried out no longer; undefined while it is. */
function findAbortCause(
  { revision: name }: CandidateRevision,
  revisions: RevisionResource[],
): Abort | undefined {
  const revision = findRevisionByName(revisions, name);
  const newest = sortRevisions(revisions)[0]?.metadata.name;
  if (revision === undefined || revision.metadata.deletionTimestamp !== undefined)
    return buildAbort('Person', 'Somebody deleted it.');
  if (parseRolloutMove(revision.metadata.annotations?.[ROLLOUT]) === 'abort')
    return buildAbort('Person', 'Somebody gave it up.');
  if (newest !== name) return buildAbort('Person', `Revision ${newest} takes its place.`);
  const { phase, message = 'It failed.' } = revision.status ?? {};
  if (!isEnded(revision) || phase === 'DEPLOYED') return undefined;
  return buildAbort(phase === 'INTERRUPTED' ? 'Person' : 'Failure', message.slice(0, 1024));
}

function advanceTrial(before: CandidateRevision, stepping: Stepping): ShareDecision {
  const { deployment, facts } = stepping;
  const { unreadySince, verdict: _former, ...rest } = before;
  const time = facts.now.toISOString();
  const { message: verdict, isFine } = summarizeChecks(deployment, { facts, before });
  const known = {
    ...rest,
    by: getShareUnit(deployment),
    ...(verdict !== undefined && { verdict }),
  };
  // Its pods stop with the deployment, and its time with them.
  if (deployment.spec.hibernate === true)
    return {
      candidate: {
        ...known,
        since: time,
        ...(isAtGate(before, deployment) && { gate: { since: time } }),
      },
    };
  // It sleeps where no time counts. A person may still move it, which wakes the deployment.
  if (isAsleep(deployment)) return applyManualMove(known, stepping) ?? { candidate: known };
  const isReady = facts.complete === before.revision;
  const candidate = isReady ? known : { ...known, unreadySince: unreadySince ?? time };
  return applyManualMove(candidate, stepping) ?? advanceByClock(candidate, { ...stepping, isFine });
}

/** Decides by the request of a person. Undefined: there is none that changes anything. */
function applyManualMove(
  candidate: CandidateRevision,
  { deployment, facts: { revisions, now } }: Stepping,
): ShareDecision | undefined {
  const move = parseRolloutMove(
    findRevisionByName(revisions, candidate.revision)?.metadata.annotations?.[ROLLOUT],
  );
  const steps = getSteps(deployment);
  if (candidate.promoted === true || move === 'promote' || steps.length === 0)
    return { candidate: { ...candidate, promoted: true } };
  if (typeof move !== 'number' || move <= candidate.share) return undefined;
  const at = { share: move, step: countReachedSteps(steps, move), since: now.toISOString() };
  return { candidate: { ...candidate, ...at, ...markGatePassed(candidate) } };
}

/** Decides by the clock. It goes no further while some pods are not ready, or a check is not fine. */
function advanceByClock(
  candidate: CandidateRevision,
  { deployment, facts, isFine }: Stepping & { isFine: boolean },
): ShareDecision {
  const { complete, now } = facts;
  const steps = getSteps(deployment);
  if (isAtGate(candidate, deployment)) return advanceThroughGate(candidate, { deployment, facts });
  const at = countReachedSteps(steps, candidate.share);
  const left = countStepSecondsLeft(steps[at - 1], candidate, now);
  if (left > 0 || complete !== candidate.revision || !isFine)
    return {
      candidate: { ...candidate, step: at },
      ...(left > 0 && left < Infinity && { again: left }),
    };
  const next = steps[at];
  if (next === undefined) return { candidate: { ...candidate, promoted: true } };
  const since = now.toISOString();
  const again = countStepSecondsLeft(next, { since }, now);
  return {
    candidate: { ...candidate, share: next.share, step: at + 1, since },
    ...(again < Infinity && { again }),
  };
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
    candidate.unreadySince !== undefined
  )
    return undefined;
  if (isAtGate(candidate, deployment)) return undefined;
  const steps = getSteps(deployment);
  const left = countStepSecondsLeft(
    steps[countReachedSteps(steps, candidate.share) - 1],
    candidate,
    facts.now,
  );
  if (left === Infinity) return candidate.revision;
  return left <= 0 && !summarizeChecks(deployment, { facts, before: candidate }).isFine
    ? candidate.revision
    : undefined;
}

/** Decides at the gate: the first step begins once its run has succeeded. */
function advanceThroughGate(
  candidate: CandidateRevision,
  { deployment, facts }: Stepping,
): ShareDecision {
  const { now, gate } = facts;
  if (!hasSucceededAtGate(candidate, gate))
    return { candidate, again: Math.max(1, countGateSecondsLeft(candidate, { deployment, now })) };
  const since = now.toISOString();
  const [step] = getSteps(deployment);
  const again = countStepSecondsLeft(step, { since }, now);
  const next = {
    ...candidate,
    ...markGatePassed(candidate),
    share: step?.share ?? 0,
    step: 1,
    since,
  };
  return { candidate: next, ...(again < Infinity && { again }) };
}

/** Returns the result of the checks in words, and whether the step may end for their part. */
function summarizeChecks(
  { spec }: DeploymentResource,
  { facts, before }: { facts: ShareFacts; before: CandidateRevision },
) {
  if ((spec.rollout?.checks ?? []).length === 0) return { message: undefined, isFine: true };
  const isAbout =
    facts.verdict?.candidate === before.revision && facts.verdict.share === before.share;
  const verdict = isAbout ? facts.verdict : undefined;
  return {
    message: (verdict?.message ?? 'Its runs are not counted yet.').slice(0, 1024),
    isFine: verdict?.state === 'fine',
  };
}

/** Returns the number of the step whose share is reached. A share below the first one is before it. */
const countReachedSteps = (steps: RolloutStep[], share: number): number =>
  steps.filter((step) => step.share <= share).length;

/** Returns the seconds until a step is over: of one that waits for somebody, all of time. */
function countStepSecondsLeft(
  step: RolloutStep | undefined,
  { since }: Pick<CandidateRevision, 'since'>,
  now: Date,
): number {
  if (step?.pause === true) return Infinity;
  return Math.ceil((step?.seconds ?? 0) - (now.getTime() - Date.parse(since)) / 1000);
}

/* The run that a revision must end with success before it gets a share. */

type GateFacts = { deployment: DeploymentResource; now: Date };

/** Returns true while the run of its gate has not succeeded. */
const isAtGate = ({ gate }: CandidateRevision, { spec }: DeploymentResource): boolean =>
  gate !== undefined && gate.passed !== true && spec.rollout?.gate !== undefined;

const markGatePassed = ({ gate }: CandidateRevision): Pick<CandidateRevision, 'gate'> =>
  gate ? { gate: { ...gate, passed: true } } : {};

/** Returns the last word of the agents, if it is about the gate that a revision is at. */
const findGateReport = (
  candidate: CandidateRevision,
  last: GateReport | undefined,
): GateReport | undefined =>
  candidate.gate !== undefined && last?.id === buildGateId(candidate, candidate.gate)
    ? last
    : undefined;

const hasSucceededAtGate = (candidate: CandidateRevision, last: GateReport | undefined): boolean =>
  findGateReport(candidate, last)?.status === 'success';

const getGateSeconds = ({ spec }: DeploymentResource): number =>
  spec.rollout?.gate?.seconds ?? GATE_SECONDS;

const countGateSecondsLeft = (
  { gate }: CandidateRevision,
  { deployment, now }: GateFacts,
): number =>
  Math.ceil(
    getGateSeconds(deployment) -
      (now.getTime() - Date.parse(gate?.since ?? now.toISOString())) / 1000,
  );

/** Returns why a revision does not come through its gate. Undefined: it is not at one, or still may. */
function explainFailedGate(
  candidate: CandidateRevision,
  facts: GateFacts & { gate: GateReport | undefined },
): string | undefined {
  const { deployment, gate } = facts;
  if (!isAtGate(candidate, deployment) || candidate.promoted === true) return undefined;
  if (parseGateInput(deployment.spec.rollout!.gate!) === undefined)
    return 'The gate failed: spec.rollout.gate.input is no JSON object.';
  const { status, message = 'its run' } = findGateReport(candidate, gate) ?? {};
  if (status === 'error' || status === 'interrupted')
    return `The gate failed: ${status}, ${message}.`.slice(0, 1024);
  if (status === 'success' || countGateSecondsLeft(candidate, facts) > 0) return undefined;
  return `The gate failed: its run did not succeed within ${getGateSeconds(deployment)} s.`;
}
