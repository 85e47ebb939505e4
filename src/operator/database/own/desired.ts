import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { buildPodSelector } from '../../../schema/platform/objects/labels.ts';
import { names } from '../../../schema/names.ts';
import { buildDisruptionBudget } from '../../objects/disruption-budget.ts';
import { settleTemplate, addTemplateHash } from '../../pods/settled-template.ts';
import { buildDatabasePolicy, buildJobPolicies } from '../../objects/network-policies.ts';
import type { DatabaseView } from '../database.ts';
import { growConnections } from './connections.ts';
import { mayDatabaseSleep } from '../../rollout/sleepers.ts';
import { hasNoAgentsLeft } from '../../pods/workload-state.ts';
import { isSettled, addRequestHash, copyRequestHash } from './settled.ts';
import { buildDatabaseSet } from './set.ts';
import { DATABASE_PORT } from './size.ts';
import { buildAppliedMetadata } from '../../objects/metadata.ts';
import { isSwitching } from './volume-name.ts';

/** Returns the objects of a managed database, in the order in which they are made. */
export function buildDatabaseObjects(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  view: DatabaseView,
): KubeObject[] {
  const live = view.database;
  const made = buildDatabaseSet(deployment, settings, {
    live,
    replicas: countDatabaseReplicas(
      deployment,
      view,
      view.isAsleep && mayDatabaseSleep(deployment, settings),
    ),
  });
  return [
    buildDatabaseService(deployment),
    buildDatabasePolicy(deployment, DATABASE_PORT),
    ...buildJobPolicies(deployment, settings, {
      port: DATABASE_PORT,
      apiServer: [...settings.agentNetwork.apiServer, ...(view.apiServer ?? [])],
    }),
    ...buildDatabaseBudget(deployment),
    // A set keeps its volume, so that one with another volume takes its place.
    ...(isSwitching(deployment, live, view.databasePods) ||
    (live === undefined && view.isUndecided === true)
      ? []
      : [settleSet(deployment, settings, { made, live, isHeld: view.renewalHeld !== undefined })]),
  ];
}

/** A database keeps its pod until its deployment asks for another one, or has pods that need more connections. */
function settleSet(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  {
    made,
    live,
    isHeld,
  }: {
    /** The set as it would be made today. */
    made: KubeObject;
    live: KubeObject | undefined;
    /** Whether it must not restart. */
    isHeld: boolean;
  },
): KubeObject {
  const waits = isHeld && live !== undefined;
  const hashed = addTemplateHash(
    waits ? copyRequestHash(made, live) : addRequestHash(deployment, made),
  );
  if (!waits && !isSettled(deployment, live)) return hashed;
  return growConnections(
    settleTemplate(hashed, live, deployment.status?.databaseTemplate),
    deployment,
    settings,
  );
}

/** Returns the budget that keeps drains from the database's one pod, where its deployment asks for one. */
function buildDatabaseBudget(deployment: DeploymentResource): KubeObject[] {
  if (deployment.spec.database?.podDisruptionBudget !== true) return [];
  const { name } = deployment.metadata;
  const selector = buildPodSelector(name, 'database');
  return [buildDisruptionBudget(deployment, 'database', names.databaseBudget(name), selector, 0)];
}

/**
 * Returns how many pods the database should have. It is none while the deployment hibernates, or sleeps with its
 * database, but only once its agents are gone, because they write until they end.
 */
export const countDatabaseReplicas = (
  { spec }: DeploymentResource,
  { workloads, agentPods }: { workloads: KubeObject[]; agentPods: KubeObject[] },
  sleeps = false,
): number => ((spec.hibernate === true || sleeps) && hasNoAgentsLeft(workloads, agentPods) ? 0 : 1);

/** Gives the database a stable name inside the cluster. */
function buildDatabaseService(deployment: DeploymentResource): KubeObject {
  const { name } = deployment.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: buildAppliedMetadata(deployment, 'database', names.database(name)),
    spec: {
      clusterIP: 'None',
      selector: buildPodSelector(name, 'database'),
      // While the guard restarts, the pod is not ready but Postgres answers. A Postgres that is starting refuses by
      // itself.
      publishNotReadyAddresses: true,
      ports: [{ name: 'postgres', port: DATABASE_PORT, targetPort: 'postgres', protocol: 'TCP' }],
    },
  };
}
