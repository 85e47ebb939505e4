import { kinds } from '../../kube/kinds.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { COMPONENT } from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import type { DatabaseAnswer } from '../database/database.ts';
import { getDatabaseEngine } from '../database/engines.ts';
import type { DatabaseAddress } from '../database/address.ts';
import { BY_DEPLOYMENT, BY_REVISION } from '../view/caches.ts';
import { hasTraffic, mayStart } from '../rollout/deployment.ts';
import type { OperatorDeps } from '../view/deps.ts';
import {
  findAbortedRevision,
  findCandidateRevision,
  isTriedOut,
  shareProblem,
} from '../rollout/by-share.ts';
import { findDrainingRevision } from '../rollout/pins.ts';
import { resolveWantedReplicas, type WorkloadComponent } from '../rollout/replicas.ts';
import { chooseActiveRevision, isEnded, decideRolloutOrder } from '../rollout/revisions.ts';
import { getReplicas } from '../pods/workload-state.ts';
import { observeBuild } from './build/observe.ts';
import { resolveEnvironment } from './environment.ts';
import { findRepeatedImage } from './image.ts';
import { getWorkloadName } from './objects/workload.ts';
import { isWaitingForVolumes } from '../pods/diagnose.ts';
import type { RevisionWorld } from './world.ts';

/** Finds the deployment of this uid. Another one of its name is a later one. */
function findDeployment(
  { caches }: OperatorDeps,
  { metadata, spec }: RevisionResource,
): { deployment: DeploymentResource | undefined; isForeign: boolean } {
  const found = caches.deployments.get(`${metadata.namespace}/${spec.deployment}`);
  const isForeign = found !== undefined && found.metadata.uid !== spec.deploymentUid;
  return { deployment: isForeign ? undefined : found, isForeign };
}

/** Observes all that exists for a revision, and writes nothing. */
export async function observeRevision(
  deps: OperatorDeps,
  revision: RevisionResource,
  { signal, now }: { signal: AbortSignal; now: Date },
): Promise<RevisionWorld> {
  const { caches } = deps;
  const { namespace, name } = revision.metadata;
  const key = `${namespace}/${revision.spec.deployment}`;
  const { deployment, isForeign } = findDeployment(deps, revision);
  const siblings = caches.revisions
    .listByIndex(BY_DEPLOYMENT, key)
    .filter(({ spec }) => spec.deploymentUid === revision.spec.deploymentUid);
  const pods = caches.pods.listByIndex(BY_REVISION, `${namespace}/${name}`);
  const filterPods = (component: WorkloadComponent): KubeObject[] =>
    pods.filter(({ metadata }) => metadata.labels?.[COMPONENT] === component);
  const order = decideRolloutOrder(revision, siblings);
  const repeated = findRepeatedImage(revision, siblings);
  const database = readDatabaseState(deps, deployment);
  const mayBegin = mayStart({
    deployment,
    hasAddress: database.address !== undefined,
    isDatabaseReady: database.databaseReady,
  });
  const isUnderWay = order === 'go' && !isEnded(revision);
  return {
    deployment,
    isForeign,
    order,
    isPick:
      chooseActiveRevision(siblings, deployment?.status?.activeRevision)?.metadata.name === name,
    ...database,
    hasTraffic: hasTraffic(
      caches.services.get(`${namespace}/${names.service(revision.spec.deployment)}`),
      name,
    ),
    environment: await resolveEnvironment(deps, revision, {
      siblings,
      isNeeded: isUnderWay && mayBegin,
      signal,
    }),
    repeated,
    missing: isUnderWay ? await listMissingSecrets(deps, revision, { pods, signal }) : [],
    build:
      isUnderWay && repeated === undefined
        ? await observeBuild(deps, revision, { deployment, pods, now, signal })
        : undefined,
    api: caches.workloads.get(`${namespace}/${getWorkloadName(name, 'api')}`),
    queue: caches.workloads.get(`${namespace}/${getWorkloadName(name, 'queue')}`),
    queueState: deps.work.queue(key),
    isTriedOut: isTriedOut(revision, deployment, siblings),
    shareProblem: shareProblem(revision, deployment, siblings, deps.settings),
    candidate: findCandidateRevision(deployment, name),
    aborted: findAbortedRevision(deployment, name),
    draining: findDrainingRevision(deployment, name),
    drainPods: deps.work.drain(key, name),
    server: deps.work.getServer(key, name),
    apiPods: filterPods('api'),
    queuePods: filterPods('queue'),
    loadedApi: findServingApi(deps, revision, deployment),
    absences: deps.absences(),
    now,
  };
}

function findServingApi(
  { caches, settings }: OperatorDeps,
  { metadata }: RevisionResource,
  deployment: DeploymentResource | undefined,
): KubeObject | undefined {
  const active = deployment?.status?.activeRevision;
  const serving =
    active === metadata.name ? undefined : caches.revisions.get(`${metadata.namespace}/${active}`);
  if (serving === undefined) return undefined;
  const api = caches.workloads.get(
    `${metadata.namespace}/${getWorkloadName(serving.metadata.name, 'api')}`,
  );
  return getReplicas(api) > resolveWantedReplicas(serving, 'api', settings) ? api : undefined;
}

async function listMissingSecrets(
  { kube }: OperatorDeps,
  revision: RevisionResource,
  { pods, signal }: { pods: KubeObject[]; signal: AbortSignal },
): Promise<string[]> {
  const { namespace } = revision.metadata;
  const wanted = listAwaitedSecrets(revision, pods);
  const found = await Promise.all(
    wanted.map((name) => kube.find(kinds.secret, { namespace, name }, signal)),
  );
  return wanted.filter((_, index) => found[index] === undefined);
}

type Source = { secretName?: unknown; name?: unknown; optional?: unknown };

/**
 * Returns the names of Secrets that the pods of a revision wait for, once they wait for a volume. A node reports a
 * missing one only in events.
 */
function listAwaitedSecrets({ spec }: RevisionResource, pods: KubeObject[]): string[] {
  if (!pods.some(isWaitingForVolumes)) return [];
  const volumes = (spec.template.resourceSpec?.volumes ?? []) as {
    secret?: Source | null;
    projected?: { sources?: { secret?: Source }[] } | null;
  }[];
  const sources = volumes.flatMap(({ secret, projected }) => [
    secret,
    ...(projected?.sources ?? []).map((source) => source.secret),
  ]);
  const wanted = sources.filter(
    (source) => source !== undefined && source !== null && source.optional !== true,
  );
  const named = wanted
    .map((source) => source?.secretName ?? source?.name)
    .filter((name) => typeof name === 'string');
  return [...new Set(named)];
}

function readDatabaseState(
  deps: OperatorDeps,
  deployment: DeploymentResource | undefined,
): DatabaseAnswer & { address: DatabaseAddress | undefined } {
  const engine = deployment && getDatabaseEngine(deployment.spec);
  const address = deployment && engine?.address(deployment);
  if (deployment === undefined || engine === undefined || address === undefined)
    return { address, connections: undefined, databaseReady: false, databaseSince: undefined };
  return { address, ...engine.answer(deps, deployment) };
}
