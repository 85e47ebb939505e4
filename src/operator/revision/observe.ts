import { NotFound } from '../../errors.ts';
import { keyOf } from '../../kube/cache.ts';
import { taken } from '../../kube/errors.ts';
import { kinds, type KubeObject } from '../../kube/kube.ts';
import type { Span } from '../../kube/lease.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { COMPONENT } from '../../schema/labels.ts';
import { labelValue, names } from '../../schema/names.ts';
import { BY_DEPLOYMENT, BY_REVISION } from '../family/caches.ts';
import { addressOf, type DatabaseAddress } from '../database/address.ts';
import { takesConnections } from '../database/ready.ts';
import { selectedBy } from '../deployment/service.ts';
import { activeOf, isEnded } from '../deployment/history.ts';
import type { OperatorDeps } from '../family/deps.ts';
import { readySince } from '../pods/diagnose.ts';
import { observeBuild, type BuildWorld } from './build/observe.ts';
import { adoptSecret, secretToRead } from './environment.ts';
import { repeatedImage } from './image.ts';
import { mayStart } from '../family/may-start.ts';
import type { WorkloadComponent } from './objects/sizes.ts';
import { workloadName } from './objects/workload.ts';
import { turnOf, type Turn } from './rollout-order.ts';
import { secretsWaitedFor } from './volume-secrets.ts';

/** The Secret whose keys become the pods' environment: none asked for, not there, or this one. */
export type Environment = { secret: 'none' | 'missing' | 'unread' } | { secret: 'ready'; name: string };

/** What is there for a revision. */
export type RevisionWorld = {
  deployment: DeploymentResource | undefined;
  /** Another deployment has the name of the one it belonged to. */
  isForeign: boolean;
  turn: Turn;
  /** Of all its siblings it is the one to serve, whatever the deployment's status says at the moment. */
  isPick: boolean;
  databaseReady: boolean;
  /** Since when the own database takes connections, in milliseconds since the epoch, where that is seen. */
  databaseSince: number | undefined;
  /** The Service sends clients to it. */
  hasTraffic: boolean;
  /** Where its pods read the database's address; undefined while the deployment has not told. */
  address: DatabaseAddress | undefined;
  environment: Environment;
  /** Of a rollback, the very image that is deployed again. */
  repeated: string | undefined;
  /** Secrets that volumes of its pods wait for and that are not there. */
  missing: string[];
  /** Only looked at while there is no image yet, and it is this revision's turn. */
  build: BuildWorld | undefined;
  api: KubeObject | undefined;
  queue: KubeObject | undefined;
  apiPods: KubeObject[];
  queuePods: KubeObject[];
  /** When no operator worked: nothing could get on then. */
  absences: Span[];
  now: Date;
};

/** The deployment of this very uid; another of its name is a later one. */
function deploymentOf({ caches }: OperatorDeps, { metadata, spec }: RevisionResource): Pick<RevisionWorld, 'deployment' | 'isForeign'> {
  const found = caches.deployments.get(`${metadata.namespace}/${spec.deployment}`);
  const isForeign = found !== undefined && found.metadata.uid !== spec.deploymentUid;
  return { deployment: isForeign ? undefined : found, isForeign };
}

export async function observeRevision(
  deps: OperatorDeps,
  revision: RevisionResource,
  { signal, now }: { signal: AbortSignal; now: Date },
): Promise<RevisionWorld> {
  const { caches } = deps;
  const { namespace, name } = revision.metadata;
  const key = `${namespace}/${revision.spec.deployment}`;
  const { deployment, isForeign } = deploymentOf(deps, revision);
  const siblings = caches.revisions.byIndex(BY_DEPLOYMENT, key).filter(({ spec }) => spec.deploymentUid === revision.spec.deploymentUid);
  const pods = caches.pods.byIndex(BY_REVISION, `${namespace}/${name}`);
  const podsOf = (component: WorkloadComponent): KubeObject[] => pods.filter(({ metadata }) => metadata.labels?.[COMPONENT] === component);
  const turn = turnOf(revision, siblings);
  const repeated = repeatedImage(revision, siblings);
  const database = databaseOf(deps, deployment);
  const isUnderWay = turn === 'go' && !isEnded(revision);
  return {
    deployment,
    isForeign,
    turn,
    isPick: activeOf(siblings, deployment?.status?.activeRevision)?.metadata.name === name,
    ...database,
    hasTraffic: selectedBy(caches.services.get(`${namespace}/${names.service(revision.spec.deployment)}`)) === labelValue(name),
    environment: await environmentOf(deps, revision, { siblings, isNeeded: isUnderWay && mayStart({ deployment, ...database }), signal }),
    repeated,
    missing: isUnderWay ? await missingSecrets(deps, revision, { pods, signal }) : [],
    build: isUnderWay && repeated === undefined ? await observeBuild(deps, revision, { deployment, pods, signal }) : undefined,
    api: caches.workloads.get(`${namespace}/${workloadName(name, 'api')}`),
    queue: caches.workloads.get(`${namespace}/${workloadName(name, 'queue')}`),
    apiPods: podsOf('api'),
    queuePods: podsOf('queue'),
    absences: deps.absences(),
    now,
  };
}

async function missingSecrets(
  { kube }: OperatorDeps,
  revision: RevisionResource,
  { pods, signal }: { pods: KubeObject[]; signal: AbortSignal },
): Promise<string[]> {
  const { namespace } = revision.metadata;
  const isThere = (name: string): Promise<boolean> =>
    kube.get(kinds.secret, { namespace, name }, signal).then(
      () => true,
      (error: unknown) => {
        if (error instanceof NotFound) return false;
        throw error;
      },
    );
  const wanted = secretsWaitedFor(revision, pods);
  const found = await Promise.all(wanted.map(isThere));
  return wanted.filter((_, index) => found[index] === false);
}

function databaseOf(
  { caches }: OperatorDeps,
  deployment: DeploymentResource | undefined,
): Pick<RevisionWorld, 'address' | 'databaseReady' | 'databaseSince'> {
  const address = deployment && addressOf(deployment);
  if (deployment === undefined || address === undefined) return { address, databaseReady: false, databaseSince: undefined };
  const key = keyOf(deployment.metadata);
  const pods = caches.pods.byIndex(BY_DEPLOYMENT, key).filter(({ metadata }) => metadata.labels?.[COMPONENT] === 'database');
  const database = caches.statefulSets.get(`${deployment.metadata.namespace}/${names.database(deployment.metadata.name)}`);
  const since = Math.max(...pods.map((pod) => readySince(pod) ?? 0));
  return {
    address,
    databaseReady: takesConnections(deployment, { database, databasePods: pods }),
    databaseSince: since > 0 ? since : undefined,
  };
}

type Asked = { siblings: RevisionResource[]; isNeeded: boolean; signal: AbortSignal };

/** Read once, when the first pods are about to be made; from then on status remembers. */
async function environmentOf({ kube, writer }: OperatorDeps, revision: RevisionResource, asked: Asked): Promise<Environment> {
  const { siblings, isNeeded, signal } = asked;
  const { namespace } = revision.metadata;
  const chosen = revision.status?.secretName;
  const wanted = revision.spec.template.secretName;
  if (chosen !== undefined) return { secret: 'ready', name: chosen };
  if (wanted === undefined) return { secret: 'none' };
  if (!isNeeded) return { secret: 'unread' };
  const source = secretToRead(revision, siblings) ?? wanted;
  const secret = await kube.get(kinds.secret, { namespace, name: source }, signal).catch((error: unknown) => {
    if (error instanceof NotFound) return undefined;
    throw error;
  });
  if (secret === undefined) return { secret: 'missing' };
  // Another revision's copy goes with that revision.
  if (secret.immutable === true && source === wanted) return { secret: 'ready', name: wanted };
  const copy = adoptSecret(revision, secret);
  const { name } = copy.metadata;
  if (!(await writer.create(copy, signal)) && !isOf(revision, await kube.get(kinds.secret, { namespace, name }, signal)))
    throw taken(`Secret ${name}`);
  return { secret: 'ready', name };
}

const isOf = (revision: RevisionResource, { metadata }: KubeObject): boolean =>
  metadata.ownerReferences?.some(({ uid }) => uid === revision.metadata.uid) === true;
