import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type { KeptPorts } from '../../schema/platform/objects/kept-ports.ts';
import type { ReportedUsage } from '../../schema/wire/reported-usage.ts';
import type { BackupPlan } from '../backup/plan.ts';
import type { ReplacePlan } from '../backup/replace-plan.ts';
import type { RestorePlan } from '../backup/restore-plan.ts';
import type { BranchLook } from '../branches/branch-look.ts';
import type { DatabaseView } from '../database/database.ts';
import type { OperatorDeps } from '../view/deps.ts';
import type { DatabaseSecret, PartPrepared, PartReport } from '../reports/part-report.ts';
import type { StatusInput } from '../reports/status-inputs.ts';
import type { ReconcileOutcome } from '../kernel/outcome.ts';
import type { QueueState } from '../scale/queue-scale.ts';
import type { DeploymentWorld } from './world.ts';
import type { RolloutDecision } from './rollout.ts';
import type { RoutePlan } from './route/plan.ts';
import type { SleepDecision } from './sleep.ts';

/** Whether a deployment has its tracing project, shares an older deployment's, or needs one. */
export type TracingState =
  | { state: 'there' | 'shared' }
  | { state: 'missing'; project: KubeObject };

/** The knowledge of one reconcile of a deployment. All of it is observed before anything is done. */
export type DeploymentFacts = DeploymentWorld &
  DatabaseView & {
    deployment: DeploymentResource;
    settings: OperatorSettings;
    now: Date;
    /** The obstacle to everything else, if there is one. */
    held: ReconcileOutcome | undefined;
    /** Name of the revision that serves, as its own status says. */
    active: string | undefined;
    /** Name of the revision that gets the traffic. It may be complete before its own status says so. */
    target: string | undefined;
    /** The revision that is asked for and does not exist. */
    missing: RevisionResource | undefined;
    ports: KeptPorts;
    sleep: SleepDecision;
    tracing: TracingState;
    /** The branch whose pushes make revisions, if one is followed and may be. */
    branch: string | undefined;
    look: BranchLook | undefined;
    rollout: RolloutDecision;
    /** Threads that wait for people, if its agents have counted them lately. */
    interrupted: number | undefined;
    /** The usage of models, if its agents have reported it lately. */
    usage: ReportedUsage | undefined;
    queue: QueueState | undefined;
    /** The decision about its next backup. Undefined if it is to have none. */
    backup: BackupPlan | undefined;
    /** The decision about the backup that it begins with. Undefined if its database begins empty. */
    restore: RestorePlan | undefined;
    /** The decision about a restore that replaces its data. Undefined if none was asked for. */
    replace: ReplacePlan | undefined;
    route: RoutePlan | undefined;
  };

/** The facts after a reconcile has written, with the changes that it made. */
export type WrittenFacts = DeploymentFacts & {
  /** The objects as they were applied. Empty if there was an obstacle. */
  written: KubeObject[];
  /** Objects that could not be written and are of a kind without which a deployment serves. */
  refused: { object: KubeObject; message: string }[];
  /** The obstacle that held everything else back. */
  trouble: ReconcileOutcome | undefined;
  /** The Secret with which pods are to be started. */
  secret: DatabaseSecret | undefined;
};

type Act<F, R> = (deps: OperatorDeps, facts: F, signal: AbortSignal) => Promise<R>;

/** A part of a deployment. The reconcile does the same with each: it prepares, writes objects, steps and reports. */
export type Part = {
  /** Returns its objects, in the order in which they are made. */
  desired?: (facts: DeploymentFacts) => KubeObject[];
  /** Prepares it, before the objects are written. An obstacle holds this back. */
  prepare?: Act<DeploymentFacts, PartPrepared>;
  /** Takes the place of `prepare` while there is an obstacle. It begins nothing. */
  whileHeld?: Act<DeploymentFacts, PartPrepared>;
  /** Fields of the status that stay as they are in a pass that does not prepare it. */
  keeps?: readonly StatusInput[];
  /** Takes a step after the objects are written. An obstacle holds this back, too. */
  step?: Act<WrittenFacts, PartReport>;
  /** Returns its statements and its fields of the status. */
  report?: (facts: WrittenFacts) => PartReport;
};
