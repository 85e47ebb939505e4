import { HIBERNATED } from '../../schema/platform/objects/conditions.ts';
import { INTERRUPT } from '../../schema/platform/objects/labels.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import { MAX_VARIABLE_BYTES } from '../../schema/platform/spec/variable-size.ts';
import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { isApiUp, isAsMade, isWorkloadUp } from '../rollout/complete.ts';
import { resolveConnections, countNeededConnections } from '../rollout/connections.ts';
import { isNothingServing, mayStart } from '../rollout/deployment.ts';
import { queueWanted } from '../rollout/queue-size.ts';
import {
  resolveMaxReplicas,
  resolveWantedReplicas,
  type WorkloadComponent,
} from '../rollout/replicas.ts';
import { resolveAgentPlace, describePlacement } from '../objects/placed.ts';
import { findRevisionImage, isEnded } from '../rollout/revisions.ts';
import { findWorstDiagnosis, type Diagnosis } from '../pods/diagnose.ts';
import { isRolledOut, getReplicas } from '../pods/workload-state.ts';
import {
  decideAborted,
  isResting,
  decideKeptPods,
  countRolloutQueuePods,
  decideSleeping,
  decideSuperseded,
  planScaleDown,
  decideTriedOut,
} from './beside-serving.ts';
import { decideBuild } from './build/staged.ts';
import {
  buildIdleDecision,
  SERVES,
  STARTING,
  decideWhileRestoring,
  type Decision,
  type Wish,
} from './decision.ts';
import { applyDeadline } from './deadline.ts';
import { decideLastStep } from './last-step.ts';
import type { RevisionWorld, Situation } from './world.ts';

type Question = (situation: Situation) => Decision | undefined;

/** Decides the next step of a revision. The first question with an answer decides. */
export function decideRevision(situation: Situation): Decision {
  for (const question of [
    decideGone,
    decideSpecChanged,
    decideEnded,
    decideAborted,
    decideInterrupted,
    decideWithoutBuilder,
    decideSkipped,
    decideHibernating,
    decideSleeping,
    decideQueued,
    decideBuild,
    decideRestoring,
  ]) {
    const decision = question(situation);
    if (decision !== undefined) return decision;
  }
  return applyDeadline(
    {
      ...decideProgress(situation),
      image: situation.world.repeated?.image,
      architecture: situation.world.repeated?.architecture,
    },
    situation,
  );
}

/** Seconds within which the watch of deployments reports the one that a new revision belongs to. */
const SEEN_SOON = 30;

const NO_DATABASE = 'Waiting for the database.';
/**
 * Seconds after which a revision looks again whether its database has restarted: the database's pod wakes the
 * deployment alone, which may have nothing new to say.
 */
const RESTARTS = 2;
const FEW_CONNECTIONS =
  'Waiting for the database, which restarts to take as many connections as the pods need.';

const decideGone: Question = ({ revision, world }) => {
  const { deployment, now } = world;
  if (deployment !== undefined && deployment.metadata.deletionTimestamp === undefined)
    return undefined;
  const { phase = 'CREATING', message = '', reason } = revision.status ?? {};
  if (isEnded(revision))
    return buildIdleDecision(phase, message, {
      rolledOut: phase === 'DEPLOYED',
      ...(reason !== undefined && { reason }),
    });
  const age = (now.getTime() - Date.parse(revision.metadata.creationTimestamp ?? '')) / 1000;
  if (phase === 'CREATING' && !world.isForeign && age < SEEN_SOON)
    return buildIdleDecision('CREATING', 'The operator has not seen its deployment yet.', {
      again: SEEN_SOON - age + 1,
    });
  return buildIdleDecision('UNKNOWN', 'The deployment is deleted or being deleted.');
};

/** The API server's own check does not see a swapped key inside free-form parts. */
const decideSpecChanged: Question = ({ revision }) => {
  if (isAsMade(revision)) return undefined;
  const phase = revision.status?.phase;
  const message = 'The spec of a revision was changed after it was made; the change is refused.';
  const stays = phase !== undefined && isEnded(revision) ? phase : 'DEPLOY_FAILED';
  return buildIdleDecision(stays, message, {
    reason: 'SpecChanged',
    rolledOut: phase === 'DEPLOYED',
  });
};

const decideEnded: Question = ({ revision, world, settings }) => {
  const { phase, message = '', reason } = revision.status ?? {};
  if (phase === undefined || !isEnded(revision)) return undefined;
  if (phase !== 'DEPLOYED')
    return buildIdleDecision(phase, message, {
      ...decideKeptPods({ revision, world, settings }),
      ...(reason !== undefined && { reason }),
    });
  const away = { wish: planScaleDown(world), rolledOut: true };
  if (isSuperseded(revision, world)) return decideSuperseded({ revision, world, settings });
  if (isResting(world))
    return buildIdleDecision(
      phase,
      'Its pods are stopped until the deployment and its database are awake.',
      away,
    );
  const queue = queueWanted(
    revision,
    { deployment: world.deployment, api: world.api, queue: world.queue, state: world.queueState },
    settings,
  );
  const wish = { api: resolveWantedReplicas(revision, 'api', settings), queue };
  const trouble = findTrouble({ revision, world, settings }, ['api', 'queue']);
  const left = START - (trouble?.early ?? START);
  if (left > 0) return buildIdleDecision(phase, SERVES, { wish, rolledOut: true, again: left });
  return buildIdleDecision(phase, SERVES, { wish, rolledOut: true, diagnosis: trouble });
};

/**
 * Seconds that a replacing pod may take to be ready before it is reported. A server loads its graphs within some
 * seconds.
 */
const START = 60;

/**
 * Returns true if another revision serves and this one no longer does. A status that somebody wrote by hand stops no
 * pods.
 */
const isSuperseded = (
  { metadata }: RevisionResource,
  { deployment, isPick }: RevisionWorld,
): boolean =>
  !isPick &&
  deployment?.status?.activeRevision !== undefined &&
  deployment.status.activeRevision !== metadata.name;

const decideInterrupted: Question = ({ revision, world }) => {
  // Traffic has already arrived. Taking it away would be an outage, and the revision is as good as deployed.
  if (revision.metadata.annotations?.[INTERRUPT] === undefined || world.hasTraffic)
    return undefined;
  return buildIdleDecision('INTERRUPTED', 'Interrupted on request.', {
    reason: 'Interrupted',
    wish: planScaleDown(world),
    ...planBuildDrop(revision),
    started: revision.status?.startedAt !== undefined,
  });
};

/** Gives up a build that nobody waits for any more. */
const planBuildDrop = ({ status }: RevisionResource): { build?: 'make' | 'drop' } =>
  status?.phase === 'AWAITING_BUILD' || status?.phase === 'BUILDING' ? { build: 'drop' } : {};

const decideWithoutBuilder: Question = ({ revision, settings }) =>
  revision.spec.source === 'git' &&
  findRevisionImage(revision) === undefined &&
  settings.builder === undefined
    ? buildIdleDecision(
        'BUILD_FAILED',
        'This installation has no builder: deploy an image instead (source external_container).',
        {
          reason: 'BuilderMissing',
        },
      )
    : undefined;

const decideSkipped: Question = ({ revision, world }) =>
  world.order === 'skip'
    ? buildIdleDecision(
        'SKIPPED',
        'A newer revision was asked for before this one got its turn.',
        planBuildDrop(revision),
      )
    : undefined;

/** A rollout that hibernation interrupts starts again afterwards, with its whole deadline. */
const decideHibernating: Question = ({ revision, world }) =>
  world.deployment?.spec.hibernate === true
    ? buildIdleDecision('QUEUED', 'The deployment hibernates; the rollout begins when it wakes.', {
        reason: HIBERNATED,
        wish: planScaleDown(world),
        ...planBuildDrop(revision),
      })
    : undefined;

const decideQueued: Question = ({ world }) =>
  world.order === 'wait'
    ? buildIdleDecision('QUEUED', 'Waiting for the rollout of an earlier revision to end.')
    : undefined;

/** The time of a restore does not count against the rollout. */
const decideRestoring: Question = ({ world }) => decideWhileRestoring(world.deployment);

function decideProgress({ revision, world, settings }: Situation): Decision {
  const begun = { started: true };
  const problem = resolveConnections(revision, settings).problem ?? world.shareProblem;
  if (problem !== undefined)
    return buildIdleDecision('CREATE_FAILED', problem, { ...begun, reason: 'Refused' });
  const api = countFirstApiPods(revision, world.loadedApi, settings);
  const queue = countRolloutQueuePods({ revision, world, settings });
  const readiness = {
    deployment: world.deployment,
    hasAddress: world.address !== undefined,
    isDatabaseReady: world.databaseReady,
  };
  if (!mayStart(readiness))
    return buildIdleDecision('AWAITING_DEPLOY', NO_DATABASE, {
      ...begun,
      reason: 'DatabaseNotReady',
    });
  if ((world.connections ?? 0) < countNeededConnections(revision, settings))
    return buildIdleDecision('AWAITING_DEPLOY', FEW_CONNECTIONS, {
      ...begun,
      reason: 'DatabaseNotReady',
      again: RESTARTS,
    });
  if (world.environment.secret === 'missing') {
    const message = `The Secret ${revision.spec.template.secretName} is not there.`;
    return buildIdleDecision('AWAITING_DEPLOY', message, { ...begun, reason: 'SecretMissing' });
  }
  if (world.environment.secret === 'too-large') {
    const of = `${world.environment.key} of the Secret ${revision.spec.template.secretName}`;
    const message = `${of} is larger than ${MAX_VARIABLE_BYTES} bytes, with which no process starts: mount it as a file.`;
    return buildIdleDecision('CREATE_FAILED', message, { ...begun, reason: 'Refused' });
  }
  if (!world.databaseReady)
    return decideWithoutDatabase({ api, queue }, { revision, world, settings });
  if (!isApiUp(revision, world, settings)) {
    // Beside a serving revision, pods of one that may not start take no runs. Where nothing serves, no run can be lost.
    return decideDeploying(
      { wish: isNothingServing(world.deployment) ? { api, queue } : { api }, of: ['api'] },
      { revision, world, settings },
    );
  }
  if (!isWorkloadUp(revision, 'queue', world, settings))
    return decideDeploying({ wish: { api, queue }, of: ['queue'] }, { revision, world, settings });
  if (world.isTriedOut === true && !world.hasTraffic)
    return decideTriedOut({ ...begun, complete: true, wish: { api, queue } }, { revision, world });
  return decideLastStep(
    { ...begun, complete: true, wish: { api, queue } },
    { revision, world, settings },
  );
}

/**
 * Returns how many api pods a rollout begins with: as many as the load asks of the one that serves, within the
 * revision's own range, so that a switch takes no pods away.
 */
function countFirstApiPods(
  revision: RevisionResource,
  loaded: KubeObject | undefined,
  settings: OperatorSettings,
): number {
  const least = resolveWantedReplicas(revision, 'api', settings);
  if (loaded === undefined) return least;
  return Math.max(
    least,
    Math.min(resolveMaxReplicas(revision, 'api', settings), getReplicas(loaded)),
  );
}

/**
 * Decides while the database starts. Pods that run can only wait for it. A fault that keeps pods from running is
 * reported at once.
 */
function decideWithoutDatabase(wish: Wish, view: Situation): Decision {
  const beside = decideDeploying({ wish, of: ['api', 'queue'] }, view);
  if (beside.reason !== undefined) return beside;
  return buildIdleDecision('AWAITING_DEPLOY', NO_DATABASE, {
    started: true,
    reason: 'DatabaseNotReady',
    wish,
  });
}

function decideDeploying(
  { wish, of }: { wish: Wish; of: WorkloadComponent[] },
  view: Situation,
): Decision {
  const diagnosis = findMissingVolume(view) ?? findTrouble(view, of, getDatabaseSince(view));
  const trouble = diagnosis?.early === undefined ? diagnosis : undefined;
  return buildIdleDecision('DEPLOYING', trouble?.message ?? STARTING, {
    started: true,
    wish,
    diagnosis,
    ...(trouble && { reason: trouble.reason }),
  });
}

/** Returns when failures of pods stop being excused for want of a database. */
const getDatabaseSince = ({ world }: Situation): number | undefined =>
  world.databaseReady ? world.databaseSince : Infinity;

/** Reports the one reason for a missing volume that the operator can see. */
const findMissingVolume = ({ world }: Situation): Diagnosis | undefined =>
  world.missing.length === 0
    ? undefined
    : {
        reason: 'SecretMissing',
        message: `A volume of the pods is missing: there is no Secret ${world.missing.join(', ')}.`,
        final: false,
      };

function findTrouble(
  { revision, world, settings }: Situation,
  components: WorkloadComponent[],
  excusedUntil?: number,
): Diagnosis | undefined {
  const asked = describePlacement(resolveAgentPlace(revision, settings));
  const patience = {
    now: world.now.getTime(),
    imagePullSeconds: settings.imagePullPatienceSeconds,
    excusedUntil,
    asked,
  };
  const found = components.flatMap((component) => {
    const [workload, pods] =
      component === 'api' ? [world.api, world.apiPods] : [world.queue, world.queuePods];
    return isRolledOut(workload) ? [] : (findWorstDiagnosis(workload, pods, patience) ?? []);
  });
  return found.find(({ final }) => final) ?? found[0];
}
