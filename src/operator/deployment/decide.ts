import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { COMPONENT, REVISION } from '../../schema/labels.ts';
import { names } from '../../schema/names.ts';
import { databaseOf } from '../database/engines.ts';
import { isComplete } from '../family/complete.ts';
import { hasTraffic } from '../family/deployment.ts';
import { activeOf } from '../family/revisions.ts';
import { desiredDeployment } from './desired.ts';
import { missingRevision, outdated, type History } from './history.ts';
import type { DeploymentWorld } from './observe.ts';

/** What a deployment should have. */
export type DeploymentDecision = {
  /** Name of the revision that serves, as its own status tells. */
  active: string | undefined;
  objects: KubeObject[];
  /** The revision that is asked for and does not exist. */
  revision: RevisionResource | undefined;
  /** Revisions that are to be removed. */
  outdated: RevisionResource[];
  history: History;
};

type Present = { world: DeploymentWorld; settings: OperatorSettings; now: Date };

/** Returns what a deployment should have, by its spec and by what exists. */
export function decideDeployment(deployment: DeploymentResource, { world, settings, now }: Present): DeploymentDecision {
  const active = activeOf(world.revisions, deployment.status?.activeRevision)?.metadata.name;
  const limit = deployment.spec.revisionHistoryLimit ?? settings.revisionHistoryLimit;
  const history = { limit, days: settings.revisionHistoryDays, now };
  const complete = completeRevision(deployment, world, settings);
  return {
    active,
    objects: desiredDeployment(deployment, settings, { ...world, active: complete ?? active }),
    revision: missingRevision(deployment, world.revisions),
    outdated: outdated(world.revisions, active, history),
    history,
  };
}

/**
 * Returns the name of the revision under way whose pods are all ready. It gets traffic before its own status says so.
 */
function completeRevision(deployment: DeploymentResource, world: DeploymentWorld, settings: OperatorSettings): string | undefined {
  const { revisions, service, workloads, agentPods } = world;
  const database = databaseOf(deployment.spec);
  const isDatabaseReady = database.address(deployment) !== undefined && database.takesConnections(deployment, world);
  const named = (name: string): KubeObject | undefined => workloads.find(({ metadata }) => metadata.name === name);
  const complete = revisions.find((revision) => {
    const { name } = revision.metadata;
    const pods = {
      api: named(names.apiWorkload(name)),
      queue: named(names.queueWorkload(name)),
      apiPods: agentPods.filter(({ metadata }) => metadata.labels?.[COMPONENT] === 'api' && metadata.annotations?.[REVISION] === name),
    };
    const view = { deployment, siblings: revisions, pods, isDatabaseReady, isServing: hasTraffic(service, name) };
    return isComplete(revision, view, settings);
  });
  return complete?.metadata.name;
}
