import { BUILD_SUCCEEDED, ROLLED_OUT } from '../../schema/conditions.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { hashOf } from '../../schema/revision-of.ts';
import { ENDED } from '../../schema/revision.ts';
import { isEnded } from '../deployment/picks.ts';
import { statusOfPod } from '../diagnose.ts';
import { settled, stalled, waiting, type Outcome, type Report, type Statement } from '../kernel/outcome.ts';
import type { Decision } from './decide.ts';
import type { RevisionWorld } from './observe.ts';
import { AGENT } from './objects/main-container.ts';

export type RevisionStatusFields = NonNullable<RevisionResource['status']>;

export type RevisionView = {
  decision: Decision;
  world: RevisionWorld;
  secondsLeft: number;
  logTail: string | undefined;
  serverVersion?: string | undefined;
};

/** What was decided -> status, conditions and outcome of a revision (pure). */
export function revisionReport(revision: RevisionResource, view: RevisionView): Report<RevisionStatusFields> {
  const { phase, message, reason } = view.decision;
  return {
    outcome: outcomeOf(view),
    statements: statements(revision, view.decision),
    status: { phase, message: message.slice(0, 4096), ...(reason !== undefined && { reason }), ...writtenOnce(revision, view) },
  };
}

/** What stays as it was first told. */
function writtenOnce(
  { spec, status: before = {} }: RevisionResource,
  { decision, world, logTail, serverVersion }: RevisionView,
): RevisionStatusFields {
  const time = world.now.toISOString().replace(/\.\d+Z$/, 'Z');
  const found = {
    specHash: hashOf(spec),
    secretName: world.environment.secret === 'ready' ? world.environment.name : undefined,
    imageDigest: decision.rolledOut ? digestOf(world) : undefined,
    startedAt: decision.started ? time : undefined,
    endedAt: ENDED.includes(decision.phase) ? time : undefined,
    logTail,
    commitSha: undefined,
    serverVersion,
  };
  // One that is queued again, by hibernation, has its whole deadline before it.
  const known = decision.phase === 'QUEUED' ? { ...before, startedAt: undefined } : before;
  const entries = Object.entries(found).map(([name, value]) => [name, known[name as keyof typeof found] ?? value]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as RevisionStatusFields;
}

function outcomeOf(view: RevisionView): Outcome {
  const { decision } = view;
  const { phase, message, reason, diagnosis } = decision;
  if (reason === 'SpecChanged') return stalled(reason, message);
  if (phase === 'DEPLOYED') return diagnosis === undefined ? settled(message, 'Deployed') : waiting(diagnosis.reason, diagnosis.message);
  if (phase === 'SKIPPED') return settled(message, 'Skipped');
  if (ENDED.includes(phase)) return stalled(reason ?? 'Failed', message);
  return waiting(reason ?? 'RollingOut', message, decision.started ? lookAgain(view) : undefined);
}

const SECRET_POLL = 5;

/** Pods and the database wake the revision by themselves; a Secret, an image that stays away and the deadline do not. */
function lookAgain({ decision, secondsLeft }: RevisionView): number {
  const soon = decision.reason === 'SecretMissing' ? SECRET_POLL : (decision.diagnosis?.again ?? secondsLeft);
  return Math.max(1, Math.ceil(Math.min(soon, secondsLeft)));
}

function statements({ spec }: RevisionResource, { phase, rolledOut, message, reason }: Decision): Statement[] {
  const rollout: Statement = rolledOut
    ? { type: ROLLED_OUT, status: 'True', reason: 'RolledOut', message: 'All pods were ready.' }
    : { type: ROLLED_OUT, status: 'False', reason: reason ?? wordOf(phase), message };
  if (spec.source !== 'git') return [rollout];
  return [rollout, { type: BUILD_SUCCEEDED, status: 'False', reason: 'BuilderMissing', message: 'This installation has no builder.' }];
}

/** `AWAITING_DEPLOY` -> `AwaitingDeploy`. */
const wordOf = (phase: string): string =>
  phase
    .toLowerCase()
    .split('_')
    .map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)
    .join('');

/** Digest of the image that the api pods run, so that a moved tag does not change what a rollback brings back. */
function digestOf({ apiPods }: RevisionWorld): string | undefined {
  const ids = apiPods.flatMap((pod) => statusOfPod(pod).containerStatuses ?? []).filter(({ name }) => name === AGENT);
  return ids.map(({ imageID = '' }) => /sha256:[0-9a-f]{64}/.exec(imageID)?.[0]).find((digest) => digest !== undefined);
}

/** The API server refused one of the objects: the spec asks for something that can't be. */
export function refusedRevision(revision: RevisionResource, message: string, now: Date): Report<RevisionStatusFields> {
  const { conditions = [], observedGeneration: _, ...status } = revision.status ?? {};
  const told = `The cluster refuses what the revision asks for: ${message}`.slice(0, 4096);
  if (isEnded(revision))
    return { outcome: stalled('Refused', told), status, statements: conditions.filter(({ type }) => type === ROLLED_OUT) };
  return {
    outcome: stalled('Refused', told),
    status: { ...status, phase: 'DEPLOY_FAILED', reason: 'Refused', message: told, endedAt: now.toISOString().replace(/\.\d+Z$/, 'Z') },
    statements: [{ type: ROLLED_OUT, status: 'False', reason: 'Refused', message: told }],
  };
}
