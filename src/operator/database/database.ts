import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import type { OperatorDeps } from '../family/deps.ts';
import type { ReconcileOutcome, StatedCondition } from '../kernel/outcome.ts';
import type { DatabaseAddress } from './address.ts';

/** What the caches hold of a deployment's database, and of those that use it. */
export type DatabaseView = {
  /** The set of the managed database. */
  database: KubeObject | undefined;
  databasePods: KubeObject[];
  /** Pods that run or are to: one that a node gave up stays in the list for as long as its workload. */
  agentPods: KubeObject[];
  /** Pods that tell a managed database of its password. */
  passwordPods: KubeObject[];
  workloads: KubeObject[];
};

/** The Secret that names the database: which one and in what state, or a sentence on what is wrong with it. */
export type DatabaseSecret = { secret: string; version?: string } | { problem: string };

type StatusFields = NonNullable<DeploymentResource['status']>;

/** What an engine works with: the caches, and the doors to the API server. */
export type DatabaseDeps = Pick<OperatorDeps, 'kube' | 'writer' | 'caches' | 'settings'>;

/** One reconcile of a deployment, as its database sees it. */
export type DatabasePass = {
  view: DatabaseView;
  /** The database's objects as they are to be. */
  objects: KubeObject[];
  /** Something else stands in the way of the deployment: nothing new is begun for it. */
  isHeld: boolean;
  signal: AbortSignal;
  now: Date;
};

/** What came of preparing a database. */
export type Prepared = {
  /** What stands in the way of all that follows. */
  trouble?: ReconcileOutcome;
  /** The deployment's objects, where a read has shown that they are to be otherwise. */
  objects?: KubeObject[];
  /** The Secret that pods are to be started with; undefined while none is known. */
  secret: DatabaseSecret | undefined;
  statements: StatedCondition[];
  /** What is under way while all else is as asked. */
  underWay?: StatedCondition | undefined;
  /** Fields of the deployment's status, each with its new value. */
  status: Pick<StatusFields, 'databaseAdminSecret' | 'databaseCertificateUntil' | 'passwordRequestedAt'>;
  /** Seconds after which to look again, each for a reason of its own. */
  again: (number | undefined)[];
};

/** What a report is made of. */
export type DatabaseFacts = {
  view: DatabaseView;
  settings: OperatorSettings;
  /** The objects as this pass has written or found them; none where it wrote nothing. */
  written: KubeObject[];
  /** Name of the revision that serves. */
  active: string | undefined;
  secret: DatabaseSecret | undefined;
  now: Date;
};

/** What a deployment says of its database. */
export type DatabaseReport = {
  /** Whether it takes connections, as far as Kubernetes shows it. */
  ready: StatedCondition;
  /** What else is to be said of it. */
  statements: StatedCondition[];
  /** Hash of its pods as they were stored, where they are the operator's. */
  template?: string | undefined;
  /** Seconds after which to look again in any case. */
  again?: number | undefined;
  /**
   * Seconds after which to look again while it is not ready: nothing wakes the deployment when the reason goes away.
   */
  poll?: number | undefined;
};

/**
 * A kind of database. A reconcile of its deployment asks for the desired objects, prepares what they need, applies
 * them, takes a step that applying alone does not take, and reports.
 */
export type DatabaseEngine = {
  /** Where pods are to read the address; undefined until the deployment's status has told one. */
  address(deployment: DeploymentResource): DatabaseAddress | undefined;
  /** Whether agents can connect, as the caches show it. */
  takesConnections(deployment: DeploymentResource, view: Pick<DatabaseView, 'database' | 'databasePods'>): boolean;
  /**
   * Connections that the pods of a revision may share out. Undefined while the database is to take another number, and
   * has not started with it.
   */
  connections(
    deployment: DeploymentResource,
    settings: Pick<OperatorSettings, 'profile'>,
    view: Pick<DatabaseView, 'database' | 'databasePods'>,
  ): number | undefined;
  /** Its objects, in the order in which they are made. */
  desired(deployment: DeploymentResource, settings: OperatorSettings, view: DatabaseView): KubeObject[];
  /**
   * Makes what its objects and its pods need, and brings a change of that one step on. A settled deployment reads
   * nothing here.
   */
  prepare(deps: DatabaseDeps, deployment: DeploymentResource, pass: DatabasePass): Promise<Prepared>;
  /** What applying its objects can't do. A statement tells what is under way, or what can't be. */
  step(
    deps: DatabaseDeps,
    deployment: DeploymentResource,
    pass: Pick<DatabasePass, 'view' | 'signal'>,
  ): Promise<StatedCondition | undefined>;
  /** What is said of it in the status of its deployment. */
  report(deployment: DeploymentResource, facts: DatabaseFacts): DatabaseReport;
  /** No pod of it is left. */
  isStopped(view: DatabaseView): boolean;
  /** Fields of the resource spec that are stored but change nothing with this engine. */
  withoutEffect: readonly (keyof NonNullable<DeploymentResource['spec']['template']['resourceSpec']>)[];
  /** Takes back what keeps the objects of a deployment that goes from going. */
  hold(deps: DatabaseDeps, deployment: DeploymentResource, left: { children: KubeObject[]; signal: AbortSignal }): Promise<void>;
  /** Removes the data of a deployment that goes, where its policy says so; what is left of it. */
  release(deps: DatabaseDeps, deployment: DeploymentResource, signal: AbortSignal): Promise<KubeObject[]>;
};
