import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import { ASLEEP } from '../../schema/platform/objects/conditions.ts';
import { ROLLOUT } from '../../schema/platform/objects/labels.ts';
import { isReplacing } from '../../schema/platform/backup/replacement.ts';
import { parseRolloutMove } from '../../schema/platform/rollout/rollout-move.ts';
import { isWaitedFor } from '../database/address.ts';
import { countMaxDrainingPods, countFirstQueuePods } from '../rollout/queue-size.ts';
import { isAsleep } from '../rollout/sleepers.ts';
import { resolveMaxReplicas } from '../rollout/replicas.ts';
import { isEnded } from '../rollout/revisions.ts';
import { getReplicas } from '../pods/workload-state.ts';
import { buildIdleDecision, type Decision, type Wish } from './decision.ts';
import type { RevisionWorld, Situation } from './world.ts';

/* Decides on the pods of a revision beside the one that serves: one that was replaced, given up, or is tried out. */

const REPLACED = 'It served until a later revision took its place.';

/** Decides for a replaced revision. */
export function decideSuperseded(situation: Situation): Decision {
  const kept = decideKeptPods(situation);
  const message =
    kept.draining === undefined ? REPLACED : `A later revision took its place. ${kept.draining}`;
  return buildIdleDecision('DEPLOYED', message, { ...kept, rolledOut: true });
}

/**
 * Decides on the pods of a revision that another one replaced, or that was given up. If it keeps work, its queue pods
 * follow that while its deployment is awake. Those that are there stay until the work was counted.
 */
export function decideKeptPods({ revision, world, settings }: Situation): {
  wish: Wish;
  draining?: string;
} {
  const { draining, queue, drainPods } = world;
  const wish = planScaleDown(world);
  if (draining === undefined || queue === undefined || isResting(world)) return { wish };
  const pods = Math.min(drainPods ?? getReplicas(queue), countMaxDrainingPods(revision, settings));
  const { runs = 'Some', threads = 'some' } = draining;
  return {
    wish: { ...wish, queue: pods },
    draining: `${runs} runs and ${threads} waiting threads are pinned to it.`,
  };
}

/** The deployment has decided that it is tried out no longer. */
export const decideAborted = (situation: Situation): Decision | undefined => {
  const { aborted: given } = situation.world;
  if (given === undefined || situation.world.hasTraffic) return undefined;
  return buildIdleDecision('DEPLOY_FAILED', `The rollout was aborted. ${given.message}`, {
    ...decideKeptPods(situation),
    started: true,
    reason: 'RolloutAborted',
  });
};

/** Scales down the existing workloads, and makes nothing. */
export const planScaleDown = (world: RevisionWorld): Wish => ({
  ...(world.api && { api: 0 }),
  ...(world.queue && { queue: 0 }),
  down: true,
});

/**
 * Returns true if the deployment hibernates or sleeps, if its data is being replaced, or if it wakes while its database
 * does not answer. Agents start beside a database for which they wait; others would only fail.
 */
export const isResting = ({
  deployment,
  address,
  databaseReady,
  api,
  queue,
}: RevisionWorld): boolean =>
  deployment?.spec.hibernate === true ||
  (deployment !== undefined && (isAsleep(deployment) || isReplacing(deployment))) ||
  (!(databaseReady || (address !== undefined && isWaitedFor(address))) &&
    [api, queue].every((workload) => workload !== undefined && getReplicas(workload) === 0));

/** The message where somebody asks for something else. */
const UNKNOWN_MOVE = `The annotation ${ROLLOUT} must be promote, abort or share=<1 to 100>.`;
/** Seconds after which one that is tried out is looked at again, in case a wake-up was lost. */
const LOOK = 60;

/** Decides for a revision whose pods are ready while it has a share of the threads. Its deployment moves it. */
export function decideTriedOut(
  done: Partial<Decision>,
  {
    revision,
    world: { candidate, deployment },
  }: { revision: RevisionResource; world: RevisionWorld },
): Decision {
  const { share = 0, step = 0 } = candidate ?? {};
  const steps = deployment?.spec.rollout?.steps?.length ?? 0;
  const asked = revision.metadata.annotations?.[ROLLOUT];
  const fault =
    asked !== undefined && parseRolloutMove(asked) === undefined ? ` ${UNKNOWN_MOVE}` : '';
  const message = `All pods are ready. It gets ${share} % of the new threads, at step ${step} of ${steps}.${fault}`;
  return buildIdleDecision('DEPLOYING', message, { ...done, again: LOOK });
}

/** A rollout that a restore interrupts starts again afterwards, with its whole deadline. */
const decideReplacing = ({ revision, world }: Situation): Decision | undefined =>
  world.deployment !== undefined && isReplacing(world.deployment) && !isEnded(revision)
    ? buildIdleDecision(
        'QUEUED',
        'The data of the database is being replaced; the rollout begins after that.',
        {
          reason: 'Restoring',
          wish: planScaleDown(world),
        },
      )
    : undefined;

/** Decides for one that is rolled out while its deployment sleeps, or gets other data. */
export const decideSleeping = (situation: Situation): Decision | undefined =>
  decideReplacing(situation) ?? decideAsleep(situation);

/** Decides for one that is tried out while its deployment sleeps. Its deadline begins when that wakes. */
const decideAsleep = ({ revision, world }: Situation): Decision | undefined => {
  const { candidate, deployment } = world;
  if (candidate === undefined || deployment === undefined || !isAsleep(deployment))
    return undefined;
  const message = `Its pods are stopped while the deployment sleeps. It keeps ${candidate.share} % of the new threads.`;
  return buildIdleDecision(revision.status?.phase ?? 'DEPLOYING', message, {
    reason: ASLEEP,
    wish: planScaleDown(world),
    started: true,
  });
};

/** Returns how many queue pods a rollout has. Those of one that is tried out follow its work. */
export function countRolloutQueuePods({ revision, world, settings }: Situation): number {
  const { deployment, candidate, queue, drainPods } = world;
  const least = countFirstQueuePods(revision, deployment, settings);
  if (candidate === undefined) return least;
  const asked = drainPods ?? (queue === undefined ? least : getReplicas(queue));
  return Math.max(least, Math.min(asked, resolveMaxReplicas(revision, 'queue', settings)));
}
