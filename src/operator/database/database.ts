import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { OperatorDeps } from '../view/deps.ts';
import type { DatabaseSecret, PartPrepared, PartReport } from '../reports/part-report.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import type { DatabaseAddress } from './address.ts';

/** The reason why a database that is asked to restart has not yet. */
export type HeldRenewal = { reason: 'WaitsForWindow' | 'WaitsForTurn'; message: string };

/** A deployment's database and the pods that use it, as a reconcile sees them. */
export type DatabaseView = {
  /** The object that runs a managed database. */
  database: KubeObject | undefined;
  databasePods: KubeObject[];
  /** Pods that run or will run. A pod that a node gave up stays in the list as long as its workload. */
  agentPods: KubeObject[];
  passwordPods: KubeObject[];
  workloads: KubeObject[];
  apiServer?: readonly string[];
  isAsleep: boolean;
  /** True while nobody knows yet whether its volume is to be filled before it starts. */
  isUndecided?: boolean;
  /** Why the database does not restart yet, although its deployment asks for it. */
  renewalHeld?: HeldRenewal | undefined;
};

/** A step of a reconcile of a deployment that only looks at its database. */
export type DatabaseStep = { view: DatabaseView; signal: AbortSignal };

/** One reconcile of a deployment, as its database sees it. */
export type DatabasePass = DatabaseStep & {
  /** True when something else is in the deployment's way, so that nothing new is begun for it. */
  isHeld: boolean;
  now: Date;
};

export type DatabaseFacts = {
  view: DatabaseView;
  settings: OperatorSettings;
  /** The objects as this pass has written or found them. Empty if it wrote nothing. */
  written: KubeObject[];
  /** Name of the revision that serves. */
  active: string | undefined;
  secret: DatabaseSecret | undefined;
  now: Date;
};

/** The answer to a revision that asks for the database of its deployment. */
export type DatabaseAnswer = {
  databaseReady: boolean;
  /** When the managed database began to take connections, in milliseconds since the epoch, if that is known. */
  databaseSince: number | undefined;
  /**
   * Connections that the pods may share out: those of the live database. Undefined while it is to take another number,
   * and has not started with it.
   */
  connections: number | undefined;
};

/**
 * A kind of database. A reconcile of its deployment asks for the desired objects, prepares everything they need,
 * applies them, takes a step that applying alone does not take, and reports.
 */
export type DatabaseEngine = {
  /** Returns where pods read the address. Undefined until the deployment's status has one. */
  address(deployment: DeploymentResource): DatabaseAddress | undefined;
  /** Returns whether agents can connect, as the caches show it. */
  takesConnections(
    deployment: DeploymentResource,
    view: { database: KubeObject | undefined; databasePods: KubeObject[] },
  ): boolean;
  /** Answers a revision by the caches. */
  answer(deps: OperatorDeps, deployment: DeploymentResource): DatabaseAnswer;
  /** Finds the object that runs it among those of its deployment. */
  runner(deployment: DeploymentResource, objects: KubeObject[]): KubeObject | undefined;
  /** Returns its objects, in the order in which they are made. */
  desired(
    deployment: DeploymentResource,
    settings: OperatorSettings,
    view: DatabaseView,
  ): KubeObject[];
  /**
   * Makes the prerequisites of its objects and pods, and moves a change of them one step forward. A settled deployment
   * reads nothing here.
   */
  prepare(
    deps: OperatorDeps,
    deployment: DeploymentResource,
    pass: DatabasePass,
  ): Promise<PartPrepared>;
  /**
   * Takes the step that applying its objects can't take. Returns a condition while a step is under way or is
   * impossible.
   */
  step(
    deps: OperatorDeps,
    deployment: DeploymentResource,
    pass: DatabaseStep,
  ): Promise<StatedCondition | undefined>;
  /** Returns its part of the deployment's status. */
  report(deployment: DeploymentResource, facts: DatabaseFacts): PartReport;
  /** Returns true when none of its pods is left. */
  isStopped(view: DatabaseView): boolean;
  /** Fields of the resource spec that are stored but have no effect with this engine. */
  withoutEffect: readonly (keyof NonNullable<
    DeploymentResource['spec']['template']['resourceSpec']
  >)[];
  /** Removes anything that prevents the deletion of a deployment's objects. */
  hold(
    deps: OperatorDeps,
    deployment: DeploymentResource,
    left: { children: KubeObject[]; signal: AbortSignal },
  ): Promise<void>;
  /** Removes the data of a deleted deployment if its policy says so. Returns the objects that are left. */
  release(
    deps: OperatorDeps,
    deployment: DeploymentResource,
    signal: AbortSignal,
  ): Promise<KubeObject[]>;
};
