import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { ASLEEP } from '../../schema/platform/objects/conditions.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { WAKE } from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import { isReplacing } from '../../schema/platform/backup/replacement.ts';
import { sortRevisions } from '../../schema/platform/resources/revision-of.ts';
import type { WorkSummary } from '../../schema/wire/work-summary.ts';
import { hasWork, isSleeper, mayRest, getSecondsBeforeSleep } from '../rollout/sleepers.ts';
import { isEnded, findRevisionByName } from '../rollout/revisions.ts';
import { findCondition } from '../kernel/conditions.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import { getAvailableReplicas } from '../pods/workload-state.ts';

/** Seconds before something is due in which a deployment wakes: pods, and a database that sleeps too, take some. */
const AHEAD = 60;

export type SleepDecision = {
  sleep: { asleepSince?: string; nextDueAt?: string };
  /** Its conditions. None for a deployment that never sleeps. */
  statements: StatedCondition[];
  /** Seconds after which to look again. */
  again?: number;
};

export type SleepFacts = {
  revisions: RevisionResource[];
  active: string | undefined;
  /** A revision that is tried out, and stays where it is until somebody goes on or it has had runs. */
  waiting: string | undefined;
  workloads: KubeObject[];
  summary: WorkSummary | undefined;
  /** True if a gateway is there to answer in its place. */
  hasGateway: boolean;
  /** The port at which it answers. */
  port: number | undefined;
  settings: OperatorSettings;
  now: Date;
};

/** Decides whether a deployment sleeps: it falls asleep when it rests for long enough, and wakes for anything to do. */
export function decideSleep(deployment: DeploymentResource, facts: SleepFacts): SleepDecision {
  const { asleepSince: since, nextDueAt } = deployment.status ?? {};
  if (!isSleeper(deployment, facts.settings) || deployment.spec.hibernate === true)
    return { sleep: {}, statements: [] };
  if (since === undefined) return decideWhileAwake(deployment, facts);
  const nextDue = findEarliest(
    nextDueAt,
    isNewer(facts, since) ? facts.summary?.nextDue : undefined,
  );
  const why = findWakeReason(deployment, { ...facts, since, nextDue });
  if (why !== undefined) return { sleep: {}, statements: [buildAwakeCondition(why)] };
  const left =
    nextDue === undefined ? undefined : (Date.parse(nextDue) - facts.now.getTime()) / 1000 - AHEAD;
  return {
    sleep: { asleepSince: since, ...(nextDue !== undefined && { nextDueAt: nextDue }) },
    statements: [buildAsleepCondition(nextDue)],
    ...(left !== undefined && { again: Math.min(LONGEST, Math.max(1, Math.ceil(left))) }),
  };
}

/** The longest time of a timer in seconds. */
const LONGEST = 20 * 86_400;

/** Reasons of being awake, with their messages. */
const AWAKE = {
  InUse: 'It was used recently, or has work.',
  OwnHandlers:
    "It stays awake: its own handlers decide who may call, so the gateway can't tell who may wake it.",
  WokenByRequest: 'A request that may call it woke it.',
  DueSoon: 'It woke for a delayed run or a cron.',
  WorkFound: 'It woke for work that arrived while it was falling asleep.',
  SpecChanged: 'It woke for another revision.',
  RolloutMoved: 'It woke because the rollout continues, or was aborted.',
  DataReplaced:
    'It woke because a restore replaces its data, and only its pods can tell which work the new data holds.',
  GuardUnknown:
    "It stays awake: its pods have not reported how they decide who may call, so the gateway can't tell who may wake it.",
  NoGateway: 'It stays awake: there is no gateway to answer in its place.',
} as const;

const buildAwakeCondition = (reason: keyof typeof AWAKE): StatedCondition => {
  const isNews = reason === 'WokenByRequest' || reason === 'DueSoon' || reason === 'WorkFound';
  return {
    type: ASLEEP,
    status: 'False',
    reason,
    message: AWAKE[reason],
    ...(isNews && { event: 'Normal' as const }),
  };
};

const buildAsleepCondition = (nextDue: string | undefined): StatedCondition => ({
  type: ASLEEP,
  status: 'True',
  reason: 'Idle',
  message: `Nobody has used it for a while. It wakes for the next request${nextDue === undefined ? '.' : `, or before ${nextDue}.`}`,
  event: 'Normal',
});

/** Returns true if the queue was looked at after the deployment fell asleep. */
const isNewer = ({ summary, now }: SleepFacts, since: string): boolean =>
  summary !== undefined && now.getTime() - summary.age * 1000 > Date.parse(since);

/** Returns the last moment that a condition's time, which has whole seconds, may mean. */
const addOneSecond = (time: string): string => new Date(Date.parse(time) + 1000).toISOString();

function findEarliest(...times: (string | undefined)[]): string | undefined {
  return times
    .filter((time) => time !== undefined)
    .toSorted((a, b) => Date.parse(a) - Date.parse(b))[0];
}

/** Returns why it wakes. Undefined: it sleeps on. */
function findWakeReason(
  { metadata, status }: DeploymentResource,
  facts: SleepFacts & { since: string; nextDue: string | undefined },
): keyof typeof AWAKE | undefined {
  const { since, summary, nextDue, now } = facts;
  // The gateway names the sleep that it ends, so that no clocks are compared and an old wish wakes nobody.
  if (metadata.annotations?.[WAKE] === since) return 'WokenByRequest';
  if (isReplacing({ status })) return 'DataReplaced';
  if (!isAsAsked(facts)) return isTried(status, facts) ? 'RolloutMoved' : 'SpecChanged';
  if (summary !== undefined && isNewer(facts, since) && hasWork(summary)) return 'WorkFound';
  if (nextDue !== undefined && Date.parse(nextDue) - now.getTime() <= AHEAD * 1000)
    return 'DueSoon';
  return mustStay(facts);
}

function decideWhileAwake(deployment: DeploymentResource, facts: SleepFacts): SleepDecision {
  const stays = mustStay(facts);
  if (stays !== undefined) return { sleep: {}, statements: [buildAwakeCondition(stays)] };
  const { summary, settings, now } = facts;
  const rest = { now, after: getSecondsBeforeSleep(deployment, settings), ahead: 2 * AHEAD };
  // A report from before it woke says nothing of the pods that run now.
  const { lastTransitionTime: woke } = findCondition(deployment, ASLEEP) ?? {};
  const rests =
    summary !== undefined &&
    mayRest(summary, rest) &&
    (woke === undefined || isNewer(facts, addOneSecond(woke)));
  if (!rests || !isReadyToSleep(facts))
    return { sleep: {}, statements: [buildAwakeCondition(getFormerReason(deployment))] };
  const { nextDue } = summary;
  return {
    sleep: { asleepSince: now.toISOString(), ...(nextDue !== undefined && { nextDueAt: nextDue }) },
    statements: [buildAsleepCondition(nextDue)],
  };
}

/** Returns why it can't sleep at all. */
function mustStay({ revisions, active, hasGateway }: SleepFacts): keyof typeof AWAKE | undefined {
  const { phase, guard } = findRevisionByName(revisions, active)?.status ?? {};
  if (guard === 'handlers') return 'OwnHandlers';
  if (!hasGateway) return 'NoGateway';
  return phase === 'DEPLOYED' && guard === undefined ? 'GuardUnknown' : undefined;
}

/** Returns true if its newest revision serves, or is tried out and waits. One that failed or was given up does not. */
function isAsAsked({ revisions, active, waiting }: SleepFacts): boolean {
  const newest = sortRevisions(revisions).find(
    (revision) => !isEnded(revision) || revision.status?.phase === 'DEPLOYED',
  )?.metadata.name;
  return newest !== undefined && (newest === active || newest === waiting);
}

/** Returns true if its newest revision is the one that was tried out until now. */
const isTried = (status: DeploymentResource['status'], { revisions }: SleepFacts): boolean =>
  sortRevisions(revisions)[0]?.metadata.name === status?.rollout?.candidate?.revision;

/** Returns true if nothing is rolled out, and the gateway can answer in its place. */
function isReadyToSleep(facts: SleepFacts): boolean {
  const { revisions, active, workloads, port } = facts;
  const serving = findRevisionByName(revisions, active);
  if (!isAsAsked(facts) || serving?.status?.phase !== 'DEPLOYED') return false;
  const api = workloads.find(
    ({ metadata }) => metadata.name === names.apiWorkload(serving.metadata.name),
  );
  const { guard } = serving.status;
  return (
    getAvailableReplicas(api) > 0 && (guard === 'key' || guard === 'open') && port !== undefined
  );
}

/** Returns the reason that the status has, which stays until the next sleep. */
function getFormerReason(deployment: DeploymentResource): keyof typeof AWAKE {
  const { status, reason = '' } = findCondition(deployment, ASLEEP) ?? {};
  const isKept = status === 'False' && Object.hasOwn(AWAKE, reason) && !LASTING.includes(reason);
  return isKept ? (reason as keyof typeof AWAKE) : 'InUse';
}

/** Reasons that hold only while their cause lasts. */
const LASTING: readonly string[] = ['OwnHandlers', 'GuardUnknown', 'NoGateway'];
