import { keyOf } from '../../kube/cache.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { databaseOf } from '../database/engines.ts';
import { deploymentWithPorts, keptPorts } from './ports.ts';
import { activeOf } from '../family/revisions.ts';
import { gatewayEndpoints } from '../scale/gateways.ts';
import { decideSleep, withSleep, type SleepDecision } from './sleep.ts';
import type { OperatorDeps } from '../family/deps.ts';
import type { Reconcile } from '../kernel/controller.ts';
import { noLaterThan, type ReconcileOutcome, type Report } from '../kernel/outcome.ts';
import { decideDeployment, type DeploymentDecision } from './decide.ts';
import { followBranch, type Followed } from './follow-branch.ts';
import { nextExpiry } from './history.ts';
import { keepStore } from '../store/keep.ts';
import { keepKey } from './keep-key.ts';
import { branchSource } from './look-at-branch.ts';
import { named, observeDeployment, type DeploymentWorld } from './observe.ts';
import { keepTracingProject, obstacle } from './obstacle.ts';
import { deploymentReport, type DeploymentStatusFields, type Written } from './status.ts';

/** Keeps the newest revision, the database and the Service of a deployment as its spec and its revisions ask. */
export const reconcileDeployment =
  (deps: OperatorDeps): Reconcile<DeploymentResource, DeploymentStatusFields> =>
  async (stored, { signal, now }) => {
    const { settings } = deps;
    const world = observeDeployment(deps, stored);
    const ports = await keptPorts(deps, stored, { service: world.service, signal });
    const ported = deploymentWithPorts(stored, ports, world.service);
    const sleep = sleepOf(deps, ported, { world, now });
    const deployment = withSleep(ported, sleep.sleep);
    const plan = decideDeployment(deployment, { world, settings, now });
    const held = obstacle(deps, deployment, world);
    const shared = await keepTracingProject(deps, deployment, { isHeld: held !== undefined, signal });
    const database = databaseOf(deployment.spec);
    const pass = { view: world, objects: plan.objects, isHeld: held !== undefined, signal, now };
    const prepared = await database.prepare(deps, deployment, pass);
    const trouble = held ?? prepared.trouble;
    const key = trouble === undefined ? await keepKey(deps, deployment, { agentPods: world.agentPods, signal, now }) : undefined;
    const store = trouble === undefined ? await keepStore(deps, deployment, signal) : undefined;
    const written =
      trouble === undefined
        ? await write(deps, { ...plan, objects: prepared.objects ?? plan.objects }, { deployment, world, signal })
        : { world, objects: [] };
    const mayFollow = trouble === undefined && plan.revision === undefined;
    const followed = await follow(deps, deployment, { mayMake: mayFollow, revisions: written.world.revisions, signal });
    const step = trouble === undefined ? await database.step(deps, deployment, pass) : undefined;
    const queue = deps.work.queue(keyOf(deployment.metadata));
    const told = [...shared, ...sleep.statements];
    const view = { written, active: plan.active, trouble, prepared, key, store, step, shared: told, queue, now };
    const report = withFollowed(deploymentReport(deployment, view, settings), followed);
    const due = [sleep.again, ...prepared.again, key?.again, nextExpiry(written.world.revisions, plan.active, plan.history)];
    return { ...report, outcome: due.reduce<ReconcileOutcome>(noLaterThan, report.outcome) };
  };

type Following = { mayMake: boolean; revisions: RevisionResource[]; signal: AbortSignal };

/** Makes the revision that the head of the followed branch asks for, as it was found by the last look. */
async function follow(deps: OperatorDeps, deployment: DeploymentResource, { signal, ...more }: Following): Promise<Followed> {
  const look = deps.branches.look(deployment.metadata.uid ?? '');
  const followed = followBranch(deployment, { ...more, look, branch: branchSource(deps, deployment)?.branch });
  if (followed.revision !== undefined) await deps.writer.create(followed.revision, signal);
  return followed;
}

const withFollowed = (report: Report<DeploymentStatusFields>, { status, statements }: Followed): Report<DeploymentStatusFields> => ({
  ...report,
  status: { ...report.status, ...status },
  statements: [...report.statements, ...statements],
});

function sleepOf(
  { work, settings }: Pick<OperatorDeps, 'work' | 'settings'>,
  deployment: DeploymentResource,
  { world, now }: { world: DeploymentWorld; now: Date },
): SleepDecision {
  const active = activeOf(world.revisions, deployment.status?.activeRevision)?.metadata.name;
  const hasGateway = gatewayEndpoints(world.gateways).length > 0;
  return decideSleep(deployment, { ...world, active, figures: work.figures(keyOf(deployment.metadata)), hasGateway, settings, now });
}

type Before = { deployment: DeploymentResource; world: DeploymentWorld; signal: AbortSignal };

/** Applies the objects, makes the revision that is asked for, and removes outdated ones. */
async function write(
  { writer }: Pick<OperatorDeps, 'writer'>,
  plan: DeploymentDecision,
  { deployment, world, signal }: Before,
): Promise<Written> {
  const objects = await writer.reconcile(plan.objects, world.children, signal);
  const { revision, outdated } = plan;
  const made = revision !== undefined && (await writer.create(revision, signal)) ? [revision] : [];
  for (const old of outdated) await writer.remove(old, signal);
  const revisions = [...world.revisions.filter((known) => !outdated.includes(known)), ...made];
  return { objects, world: { ...world, ...named(deployment, objects), revisions } };
}
