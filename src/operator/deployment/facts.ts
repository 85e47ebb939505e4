import type { ObjectMeta } from '../../schema/platform/objects/object-meta.ts';
import type { ReplacePlan } from '../backup/replace-plan.ts';
import type { RestorePlan } from '../backup/restore-plan.ts';
import { buildObjectKey } from '../../kube/cache.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { findIdHolder } from '../../schema/platform/resources/deployment-ids.ts';
import type { KeptPorts } from '../../schema/platform/objects/kept-ports.ts';
import { resolveDeploymentTenant } from '../../schema/platform/resources/tenancy.ts';
import { names } from '../../schema/names.ts';
import { findHeldRenewal, type DatabaseInLine } from '../database/own/turns.ts';
import { hasTraffic } from '../rollout/deployment.ts';
import { BY_ID } from '../view/caches.ts';
import type { OperatorDeps } from '../view/deps.ts';
import { buildTurnNames } from '../view/integrations.ts';
import { findDeploymentTenant, mapNamespaceOwners } from '../view/tenancy.ts';
import { isTriedOut } from '../rollout/by-share.ts';
import { chooseActiveRevision, findRevisionByName } from '../rollout/revisions.ts';
import { isSleeper } from '../rollout/sleepers.ts';
import {
  buildStalledOutcome,
  buildWaitingOutcome,
  type ReconcileOutcome,
} from '../kernel/outcome.ts';
import { listGatewayEndpoints } from '../scale/gateways.ts';
import { completeRevision } from './decide.ts';
import { buildMissingRevision } from './history.ts';
import { resolveBranchSource } from './look-at-branch.ts';
import { observeDeployment } from './observe.ts';
import type { DeploymentWorld } from './world.ts';
import type { DeploymentFacts } from './part.ts';
import { resolveTracingState } from './parts/tracing-project.ts';
import { getNodePort } from './parts/service.ts';
import { decideRollout } from './rollout.ts';
import { observeRoute } from './route/observe.ts';
import { planBackup } from '../backup/plan.ts';
import { planReplacement } from '../backup/replace-plan.ts';
import { planRestore } from '../backup/restore-plan.ts';
import { decideShare, findWaitingRevision, type ShareDecision } from './shares.ts';
import { decideSleep } from './sleep.ts';

/** Observes all that a reconcile of a deployment knows. Its ports are kept here, because nobody else may have them. */
export async function observeFacts(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  { signal, now }: { signal: AbortSignal; now: Date },
): Promise<DeploymentFacts> {
  const { caches, settings, work } = deps;
  const world = observeDeployment(deps, deployment);
  const ports = await keepPorts(deps, deployment, { service: world.service, signal });
  const active = chooseActiveRevision(world.revisions, findServedRevision(deployment, world))
    ?.metadata.name;
  const key = buildObjectKey(deployment.metadata);
  const hasGateway = listGatewayEndpoints(world.gateways).length > 0;
  const complete = completeRevision(deployment, world, settings);
  const shared = {
    ...world,
    active,
    complete,
    verdict: work.getVerdict(key),
    gate: work.getGateReport(key),
    now,
  };
  const share = settings.gateway === undefined ? {} : decideShare(deployment, shared);
  const tried = { share, waiting: findWaitingRevision(deployment, share, shared) };
  const seen = {
    ...world,
    ...tried,
    active,
    summary: work.getSummary(key),
    hasGateway,
    port: ports.gateway,
    settings,
    now,
  };
  const sleep = decideSleep(deployment, seen);
  return {
    ...world,
    deployment,
    settings,
    now,
    held: findObstacle(deps, deployment, world),
    active,
    target: mayServe(complete, { deployment, share, world }) ? complete : active,
    missing: buildMissingRevision(deployment, world.revisions),
    ports,
    sleep,
    isAsleep: sleep.sleep.asleepSince !== undefined,
    renewalHeld: findHeldRenewal({ deployment, set: world.database }, () => ({
      databases: listTenantDatabases(deps, deployment),
      turns: settings.databases,
      taken: deps.restartTurns,
      now,
    })),
    tracing: resolveTracingState(deployment, caches, settings),
    branch: resolveBranchSource(deps, deployment)?.branch,
    look: deps.branches.look(deployment.metadata.uid ?? ''),
    queue: work.queue(key),
    interrupted: seen.summary?.interrupted,
    usage: seen.summary?.usage,
    rollout: decideRollout(deployment, seen),
    route: observeRoute(deps, deployment),
    ...observeRestores(deps, deployment, { database: world.database, now }),
    backup: planBackup(deployment, {
      ...world,
      settings,
      now,
      asleepSince: sleep.sleep.asleepSince,
    }),
  };
}

/**
 * Returns the databases among which that of a deployment takes its turn to restart: those of its tenant. One that never
 * comes up again holds the turn of no other tenant.
 */
function listTenantDatabases(
  { caches, settings }: OperatorDeps,
  { metadata }: DeploymentResource,
): DatabaseInLine[] {
  const nameOf = buildTurnNames(caches, settings);
  const own = nameOf(metadata.namespace);
  return caches.deployments
    .list()
    .filter((other) => nameOf(other.metadata.namespace) === own)
    .map((other) => ({
      deployment: other,
      set: caches.statefulSets.get(
        `${other.metadata.namespace}/${names.database(other.metadata.name)}`,
      ),
    }));
}

/** Returns true if a revision whose pods are all ready gets the traffic: unless it is tried out first. */
function mayServe(
  complete: string | undefined,
  {
    deployment,
    share: { candidate, aborted },
    world,
  }: { deployment: DeploymentResource; share: ShareDecision; world: DeploymentWorld },
): boolean {
  const revision = findRevisionByName(world.revisions, complete);
  if (revision === undefined || aborted?.revision === complete) return false;
  return candidate?.revision === complete
    ? candidate?.promoted === true
    : !isTriedOut(revision, deployment, world.revisions);
}

/** Returns the name of the revision that served until now. Where a backup restored no status, the Service tells it. */
function findServedRevision(
  { status }: DeploymentResource,
  { revisions, service }: DeploymentWorld,
): string | undefined {
  if (status?.phase !== undefined || status?.activeRevision !== undefined)
    return status.activeRevision;
  return revisions.find(({ metadata }) => hasTraffic(service, metadata.name))?.metadata.name;
}

/** Returns the ports that the deployment keeps, and keeps those that are new. */
async function keepPorts(
  { ports, settings }: OperatorDeps,
  deployment: DeploymentResource,
  { service, signal }: { service: KubeObject | undefined; signal: AbortSignal },
): Promise<KeptPorts> {
  const { gateway, exposeAs } = settings;
  if (gateway === undefined && exposeAs !== 'NodePort') return {};
  const node = exposeAs === 'NodePort' ? getNodePort(service) : undefined;
  return ports.keep(
    deployment.metadata.uid ?? '',
    { gateway: isSleeper(deployment, settings), node },
    signal,
  );
}

/** Returns the deployments of the same tenant that are known by the id that this one claims. */
function listNamesakes(
  deployment: DeploymentResource,
  { caches, settings }: OperatorDeps,
): DeploymentResource[] {
  const claimed = deployment.spec.id?.toLowerCase();
  if (claimed === undefined) return [];
  const tenant = findDeploymentTenant(deployment, caches, settings);
  return caches.deployments
    .listByIndex(BY_ID, claimed)
    .filter((other) => findDeploymentTenant(other, caches, settings) === tenant);
}

/**
 * Looks for the backup that a deployment begins with, or that replaces its data, among those of its tenant; without
 * one, of its namespace.
 */
function observeRestores(
  { caches, settings }: OperatorDeps,
  deployment: DeploymentResource,
  live: { now: Date; database: KubeObject | undefined },
): { restore: RestorePlan | undefined; replace: ReplacePlan | undefined } {
  if (deployment.spec.database?.restore === undefined)
    return { restore: undefined, replace: undefined };
  const owners = mapNamespaceOwners(caches, settings);
  const findTenant = ({ metadata }: { metadata: ObjectMeta }): string | undefined =>
    resolveDeploymentTenant({ metadata }, owners, settings.defaultTenantId);
  const tenant = findTenant(deployment);
  const isOurs = ({ metadata }: { metadata: ObjectMeta }): boolean =>
    tenant === undefined
      ? metadata.namespace === deployment.metadata.namespace
      : findTenant({ metadata }) === tenant;
  const seen = {
    backups: caches.backups.list().filter(isOurs),
    deployments: (id: string) => caches.deployments.listByIndex(BY_ID, id).filter(isOurs),
    tenant,
    settings,
  };
  const replace = planReplacement(deployment, { ...seen, ...live });
  return { restore: replace === undefined ? planRestore(deployment, seen) : undefined, replace };
}

function findObstacle(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  { foreign }: DeploymentWorld,
): ReconcileOutcome | undefined {
  if (foreign.length > 0)
    return buildWaitingOutcome(
      'EarlierDeployment',
      'Waiting until the revisions of an earlier deployment of this name are gone.',
      5,
    );
  if (findIdHolder(deployment, listNamesakes(deployment, deps)) === undefined) return undefined;
  return buildStalledOutcome(
    'IdTaken',
    `spec.id: another deployment has the id ${deployment.spec.id}. Make this one again without it.`,
  );
}
