import type { OperatorSettings } from '../../config/operator.ts';
import { HIBERNATED } from '../../schema/conditions.ts';
import { INTERRUPT } from '../../schema/labels.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { hashOf, templateHash } from '../../schema/revision-of.ts';
import type { RevisionStatus } from '../../schema/revision.ts';
import { isEnded } from '../deployment/picks.ts';
import { connectionsOf } from '../connections.ts';
import { diagnose, type Diagnosis } from '../diagnose.ts';
import { isRolledOut, replicasOf } from '../workload-state.ts';
import type { RevisionWorld } from './observe.ts';
import { replicasAllowed, replicasWanted, type WorkloadComponent } from './objects/sizes.ts';

/** Replicas of one workload; undefined: it is not made, and if it is there it stays as it is. */
export type Wish = { api?: number; queue?: number };

export type Decision = {
  phase: RevisionStatus;
  message: string;
  reason?: string;
  /** What the pods suffer from; its log is read when the revision ends. */
  diagnosis?: Diagnosis | undefined;
  wish: Wish;
  started: boolean;
  rolledOut: boolean;
};

type Situation = { revision: RevisionResource; world: RevisionWorld; settings: OperatorSettings };
type Step = (situation: Situation) => Decision | undefined;

/** The next step of a revision (pure). The first question with an answer decides. */
export function decide(situation: Situation): Decision {
  for (const step of [gone, specChanged, ended, interrupted, buildless, skipped, hibernating, queued]) {
    const decision = step(situation);
    if (decision !== undefined) return decision;
  }
  return withinDeadline(progress(situation), situation);
}

const idle = (phase: RevisionStatus, message: string, more: Partial<Decision> = {}): Decision => ({
  phase,
  message,
  wish: {},
  started: false,
  rolledOut: false,
  ...more,
});

const gone: Step = ({ revision, world }) => {
  if (world.deployment !== undefined && world.deployment.metadata.deletionTimestamp === undefined) return undefined;
  const { phase = 'UNKNOWN', message = 'The deployment is gone or going.', reason } = revision.status ?? {};
  return idle(phase, message, { rolledOut: phase === 'DEPLOYED', ...(reason !== undefined && { reason }) });
};

/** The API server's own check is blind inside free-form parts: a swapped key compares as equal there. */
const specChanged: Step = ({ revision }) => {
  const known = revision.status?.specHash;
  // One seen for the first time must be what its own hash says: not a copy that somebody made with another content.
  const isAsMade = known === undefined ? revision.spec.hash === templateHash(revision) : known === hashOf(revision.spec);
  if (isAsMade) return undefined;
  const phase = revision.status?.phase;
  const message = 'The spec of a revision was changed after it was made; the change is refused.';
  const stays = phase !== undefined && isEnded(revision) ? phase : 'DEPLOY_FAILED';
  return idle(stays, message, { reason: 'SpecChanged', rolledOut: phase === 'DEPLOYED' });
};

const ended: Step = ({ revision, world, settings }) => {
  const { phase, message = '', reason } = revision.status ?? {};
  if (phase === undefined || !isEnded(revision)) return undefined;
  if (phase !== 'DEPLOYED') return idle(phase, message, { wish: takenDown(world), ...(reason !== undefined && { reason }) });
  if (isSuperseded(revision, world) || isResting(world)) return idle(phase, message, { wish: takenDown(world), rolledOut: true });
  const wish = { api: replicasWanted(revision, 'api', settings), queue: replicasWanted(revision, 'queue', settings) };
  return idle(phase, message, { wish, rolledOut: true, diagnosis: troubleOf({ world, settings }, ['api', 'queue']) });
};

/** What is there is scaled down; nothing is made. */
const takenDown = (world: RevisionWorld): Wish => ({ ...(world.api && { api: 0 }), ...(world.queue && { queue: 0 }) });

/** Another revision serves, and this one no longer does: a status that somebody wrote by hand stops no pods. */
const isSuperseded = ({ metadata }: RevisionResource, { deployment, isPick }: RevisionWorld): boolean =>
  !isPick && deployment?.status?.activeRevision !== undefined && deployment.status.activeRevision !== metadata.name;

/** The deployment hibernates, or wakes and its database is not there yet: agents started now would only fail. */
const isResting = ({ deployment, databaseReady, api, queue }: RevisionWorld): boolean =>
  deployment?.spec.hibernate === true ||
  (!databaseReady && [api, queue].every((workload) => workload !== undefined && replicasOf(workload) === 0));

const interrupted: Step = ({ revision, world }) => {
  // Traffic is already here: taking it away again would be an outage, and the revision is as good as deployed.
  if (revision.metadata.annotations?.[INTERRUPT] === undefined || isServingSaid(revision, world)) return undefined;
  return idle('INTERRUPTED', 'Interrupted on request.', {
    reason: 'Interrupted',
    wish: takenDown(world),
    started: revision.status?.startedAt !== undefined,
  });
};

const buildless: Step = ({ revision }) =>
  revision.spec.source === 'git'
    ? idle('BUILD_FAILED', 'This installation has no builder: deploy an image instead (source external_container).', {
        reason: 'BuilderMissing',
      })
    : undefined;

const skipped: Step = ({ world }) =>
  world.turn === 'skip' ? idle('SKIPPED', 'A newer revision was asked for before this one got its turn.') : undefined;

/** A rollout that hibernation comes between starts anew afterwards, with all its time. */
const hibernating: Step = ({ world }) =>
  world.deployment?.spec.hibernate === true
    ? idle('QUEUED', 'The deployment hibernates; the rollout begins when it wakes.', { reason: HIBERNATED, wish: takenDown(world) })
    : undefined;

const queued: Step = ({ world }) =>
  world.turn === 'wait' ? idle('QUEUED', 'Waiting for the rollout of an earlier revision to end.') : undefined;

function progress({ revision, world, settings }: Situation): Decision {
  const begun = { started: true };
  const { problem } = connectionsOf(revision, settings);
  if (problem !== undefined) return idle('DEPLOY_FAILED', problem, { ...begun, reason: 'Refused' });
  const api = replicasWanted(revision, 'api', settings);
  const queue = replicasWanted(revision, 'queue', settings);
  if (!world.databaseReady) {
    return idle('AWAITING_DEPLOY', 'Waiting for the database.', { ...begun, reason: 'DatabaseNotReady' });
  }
  if (world.environment.secret === 'missing') {
    const message = `The Secret ${revision.spec.template.secretName} is not there.`;
    return idle('AWAITING_DEPLOY', message, { ...begun, reason: 'SecretMissing' });
  }
  if (!isUp(world.api, [api, replicasAllowed(revision, 'api', settings)]))
    return deploying({ wish: { api }, of: 'api' }, { world, settings });
  if (!isUp(world.queue, [queue, replicasAllowed(revision, 'queue', settings)]))
    return deploying({ wish: { api, queue }, of: 'queue' }, { world, settings });
  const done = { ...begun, rolledOut: true, wish: { api, queue } };
  return isServingSaid(revision, world)
    ? idle('DEPLOYED', 'All pods are ready and the revision serves.', done)
    : idle('DEPLOYING', 'All pods are ready; traffic is being switched.', done);
}

/** The workload has a size within the range, and all of it is there. */
const isUp = (workload: RevisionWorld['api'], [least, most]: [number, number]): boolean =>
  isRolledOut(workload) && replicasOf(workload) >= least && replicasOf(workload) <= most;

const isServingSaid = ({ metadata }: RevisionResource, { deployment }: RevisionWorld): boolean =>
  deployment?.status?.activeRevision === metadata.name;

type View = Pick<Situation, 'world' | 'settings'>;

function deploying({ wish, of }: { wish: Wish; of: WorkloadComponent }, view: View): Decision {
  const diagnosis = troubleOf(view, [of]);
  const told = diagnosis?.early === true ? undefined : diagnosis;
  return idle('DEPLOYING', told?.message ?? 'The pods are starting.', {
    started: true,
    wish,
    diagnosis,
    ...(told && { reason: told.reason }),
  });
}

function troubleOf({ world, settings }: View, components: WorkloadComponent[]): Diagnosis | undefined {
  const patience = { now: world.now.getTime(), imagePullSeconds: settings.imagePullPatienceSeconds };
  const found = components.flatMap((component) => {
    const [workload, pods] = component === 'api' ? [world.api, world.apiPods] : [world.queue, world.queuePods];
    return isRolledOut(workload) ? [] : (diagnose(workload, pods, patience) ?? []);
  });
  return found.find(({ final }) => final) ?? found[0];
}

/** Seconds a revision has left before it has failed. */
export function secondsLeft({ revision, world, settings }: Situation): number {
  const limit = world.deployment?.spec.progressDeadlineSeconds ?? settings.progressDeadlineSeconds;
  const started = Date.parse(revision.status?.startedAt ?? world.now.toISOString());
  return limit - (world.now.getTime() - started) / 1000;
}

/** A rollout that is late, or that no waiting helps, has failed; what it has of pods is taken back. */
function withinDeadline(decision: Decision, situation: Situation): Decision {
  if (decision.rolledOut) return decision;
  const { diagnosis } = decision;
  const isLate = secondsLeft(situation) <= 0;
  if (!isLate && diagnosis?.final !== true) return decision;
  const reason = diagnosis?.reason ?? decision.reason ?? 'DeadlineExceeded';
  const told = diagnosis?.message ?? decision.message;
  return {
    ...decision,
    phase: 'DEPLOY_FAILED',
    reason,
    message: isLate ? `Not ready in time. ${told}` : told,
    wish: takenDown(situation.world),
  };
}
