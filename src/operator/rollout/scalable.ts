import { isDeepStrictEqual } from 'node:util';
import { formatDay, updateUsage } from '../../schema/platform/deployment/usage-status.ts';
import { toUsageDays } from '../../schema/wire/usage-days.ts';
import type { ReportedUsage } from '../../schema/wire/reported-usage.ts';
import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { isReplacing } from '../../schema/platform/backup/replacement.ts';
import { names } from '../../schema/names.ts';
import { getReplicas } from '../pods/workload-state.ts';
import {
  CHECK_SECONDS,
  findComparedRevisions,
} from '../../schema/platform/rollout/rollout-trial.ts';
import type { DrainingQueue } from '../scale/drain-scale.ts';
import type { Scalable } from '../scale/queue-scale.ts';
import type { Trial } from '../scale/work-follower.ts';
import type { Caches } from '../view/caches.ts';
import type { WorkSummary } from '../../schema/wire/work-summary.ts';
import { hasWork, isAsleep, isSleeper, mayRest, getSecondsBeforeSleep } from './sleepers.ts';
import { isQueueScaled, countMaxDrainingPods, queueBounds } from './queue-size.ts';

/** Returns true unless an outsider scales it, or it is to have no pods or to be left alone. */
const mayScale = (deployment: DeploymentResource): boolean => {
  const { queueReplicas, suspend, hibernate } = deployment.spec;
  return (
    queueReplicas === undefined &&
    suspend !== true &&
    hibernate !== true &&
    !isAsleep(deployment) &&
    !isReplacing(deployment)
  );
};

/**
 * Returns how the queue of a deployment (`namespace/name`) may be scaled by its work. Undefined if it has a fixed size,
 * or somebody else scales it, or nothing of it runs.
 */
export function buildScalableLookup(
  caches: Caches,
  settings: OperatorSettings,
): (deployment: string) => Scalable | undefined {
  return (key) => {
    const deployment = caches.deployments.get(key);
    const active = deployment?.status?.activeRevision;
    if (deployment === undefined || active === undefined || !mayScale(deployment)) return undefined;
    const { namespace } = deployment.metadata;
    const revision = caches.revisions.get(`${namespace}/${active}`);
    if (revision === undefined || !isQueueScaled(revision, deployment, settings)) return undefined;
    const queue = caches.workloads.get(`${namespace}/${names.queueWorkload(active)}`);
    return {
      bounds: queueBounds(revision, settings),
      live: queue === undefined ? 0 : getReplicas(queue),
    };
  };
}

/** Returns the queues of revisions that have work beside the one that serves. None while nothing of it is to run. */
export function buildDrainingLookup(
  caches: Caches,
  settings: OperatorSettings,
): (deployment: string) => DrainingQueue[] {
  return (key) => {
    const deployment = caches.deployments.get(key);
    if (
      deployment === undefined ||
      deployment.spec.suspend === true ||
      deployment.spec.hibernate === true
    )
      return [];
    const { draining = [], candidate } = deployment.status?.rollout ?? {};
    return [...draining, ...(candidate ? [candidate] : [])].flatMap(({ revision: name }) => {
      const { namespace } = deployment.metadata;
      const revision = caches.revisions.get(`${namespace}/${name}`);
      const queue = caches.workloads.get(`${namespace}/${names.queueWorkload(name)}`);
      if (revision === undefined || queue === undefined) return [];
      return [
        {
          revision: name,
          live: getReplicas(queue),
          most: countMaxDrainingPods(revision, settings),
        },
      ];
    });
  };
}

/** Returns the revision of a deployment that is tried out, if it has checks and runs, with the one that serves. */
export function buildTrialLookup({
  deployments,
}: Caches): (deployment: string) => Trial | undefined {
  return (key) => {
    const deployment = deployments.get(key);
    return deployment && findTrial(deployment);
  };
}

function findTrial(deployment: DeploymentResource): Trial | undefined {
  const compared = findComparedRevisions(deployment);
  const { checks = [], checkSeconds = CHECK_SECONDS } = deployment.spec.rollout ?? {};
  return (
    compared && {
      ...compared,
      share: deployment.status?.rollout?.candidate?.share ?? 0,
      checks,
      everySeconds: checkSeconds,
    }
  );
}

/** Returns how many threads wait for people, as the status of a deployment says. Undefined: nobody writes it now. */
export const buildInterruptedLookup =
  ({ deployments }: Caches) =>
  (key: string): number | undefined => {
    const deployment = deployments.get(key);
    return deployment === undefined || deployment.spec.suspend === true
      ? undefined
      : (deployment.status?.interruptedThreads ?? 0);
  };

/** Returns whether usage of models that was reported changes the status of a deployment. */
export const buildUsageNewsLookup =
  ({ deployments }: Caches, now: () => Date) =>
  (key: string, reported: ReportedUsage): boolean => {
    const deployment = deployments.get(key);
    if (deployment === undefined || deployment.spec.suspend === true) return false;
    const { usageToday, usageYesterday } = deployment.status ?? {};
    const next = updateUsage(deployment.status ?? {}, toUsageDays(reported), formatDay(now()));
    return !isDeepStrictEqual([usageToday, usageYesterday], [next.usageToday, next.usageYesterday]);
  };

/** Returns whether the work of a deployment may let it fall asleep, or wake it. */
export function sleepConcernIn(
  { deployments }: Caches,
  settings: OperatorSettings,
  now: () => Date,
) {
  return (key: string, summary: WorkSummary): boolean => {
    const deployment = deployments.get(key);
    if (deployment === undefined || !isSleeper(deployment, settings)) return false;
    if (isAsleep(deployment))
      return hasWork(summary) || summary.nextDue !== deployment.status?.nextDueAt;
    return mayRest(summary, {
      now: now(),
      after: getSecondsBeforeSleep(deployment, settings),
      ahead: 0,
    });
  };
}
