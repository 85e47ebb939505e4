import { BUILD_SUCCEEDED, ROLLED_OUT } from '../../schema/conditions.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { hashOf } from '../../schema/revision-of.ts';
import { ENDED } from '../../schema/revision.ts';
import { statusOfPod } from '../diagnose.ts';
import { settled, stalled, waiting, type Outcome, type Report, type Statement } from '../kernel/outcome.ts';
import type { Decision } from './decide.ts';
import type { RevisionWorld } from './observe.ts';
import { AGENT } from './objects/main-container.ts';

export type RevisionStatusFields = NonNullable<RevisionResource['status']>;

export type RevisionView = { decision: Decision; world: RevisionWorld; secondsLeft: number; logTail: string | undefined };

/** What was decided -> status, conditions and outcome of a revision (pure). What is written once stays as it was. */
export function revisionReport(revision: RevisionResource, view: RevisionView): Report<RevisionStatusFields> {
  const { decision, world } = view;
  const before = revision.status ?? {};
  const isOver = ENDED.includes(decision.phase);
  const time = world.now.toISOString().replace(/\.\d+Z$/, 'Z');
  const secret = world.environment.secret === 'ready' ? world.environment.name : before.secretName;
  const digest = before.imageDigest ?? (decision.rolledOut ? digestOf(world) : undefined);
  const startedAt = before.startedAt ?? (decision.started ? time : undefined);
  const endedAt = before.endedAt ?? (isOver ? time : undefined);
  return {
    outcome: outcomeOf(view),
    statements: statements(revision, decision),
    status: {
      phase: decision.phase,
      message: decision.message.slice(0, 4096),
      specHash: before.specHash ?? hashOf(revision.spec),
      ...(decision.reason !== undefined && { reason: decision.reason }),
      ...logOf(before.logTail, view),
      ...(secret !== undefined && { secretName: secret }),
      ...(digest !== undefined && { imageDigest: digest }),
      ...(before.commitSha !== undefined && { commitSha: before.commitSha }),
      ...(before.serverVersion !== undefined && { serverVersion: before.serverVersion }),
      ...(startedAt !== undefined && { startedAt }),
      ...(endedAt !== undefined && { endedAt }),
    },
  };
}

const logOf = (before: string | undefined, { logTail }: RevisionView): { logTail?: string } => {
  const tail = before ?? logTail;
  return tail === undefined ? {} : { logTail: tail };
};

function outcomeOf({ decision, secondsLeft }: RevisionView): Outcome {
  const { phase, message, reason, diagnosis } = decision;
  if (reason === 'SpecChanged') return stalled(reason, message);
  if (phase === 'DEPLOYED') return diagnosis === undefined ? settled(message, 'Deployed') : waiting(diagnosis.reason, diagnosis.message);
  if (phase === 'SKIPPED') return settled(message, 'Skipped');
  if (ENDED.includes(phase)) return stalled(reason ?? 'Failed', message);
  // Pods and the database wake the revision by themselves; a Secret and the deadline do not.
  const after = reason === 'SecretMissing' ? Math.min(5, secondsLeft) : secondsLeft;
  return waiting(reason ?? 'RollingOut', message, decision.started ? Math.max(1, Math.ceil(after)) : undefined);
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
