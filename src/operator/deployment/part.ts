import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import type { KeptPorts } from '../../schema/kept-ports.ts';
import type { BranchLook } from '../branches/branch-look.ts';
import type { DatabaseView } from '../database/database.ts';
import type { DatabaseSecret, PartDeps, PartPrepared, PartReport } from '../family/part-report.ts';
import type { StatusInput } from '../family/status-inputs.ts';
import type { ReconcileOutcome } from '../kernel/outcome.ts';
import type { QueueState } from '../scale/queue-scale.ts';
import type { DeploymentWorld } from './observe.ts';
import type { SleepDecision } from './sleep.ts';

/** Whether a deployment has its tracing project, shares an older deployment's, or needs one. */
export type TracingState = { state: 'there' | 'shared' } | { state: 'missing'; project: KubeObject };

/** What one reconcile of a deployment knows. All of it is observed before anything is done. */
export type Facts = DeploymentWorld &
  DatabaseView & {
    deployment: DeploymentResource;
    settings: OperatorSettings;
    now: Date;
    /** What is in the way of everything else. */
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
    /** The last look at it, if there was one. */
    look: BranchLook | undefined;
    /** The decision about its queue, by the work there is. */
    queue: QueueState | undefined;
  };

/** The facts after a reconcile has written, with what it has changed. */
export type WrittenFacts = Facts & {
  /** The objects as they were applied. Empty if something was in the way. */
  written: KubeObject[];
  /** What prevented everything else. */
  trouble: ReconcileOutcome | undefined;
  /** The Secret with which pods are to be started. */
  secret: DatabaseSecret | undefined;
};

type Act<F, R> = (deps: PartDeps, facts: F, signal: AbortSignal) => Promise<R>;

/** A part of a deployment. The reconcile does the same with each: it prepares, writes objects, steps and reports. */
export type Part = {
  /** Returns its objects, in the order in which they are made. */
  desired?: (facts: Facts) => KubeObject[];
  /** Does what comes before the objects. Something in the way of the deployment holds it back. */
  prepare?: Act<Facts, PartPrepared>;
  /** Takes the place of `prepare` while something is in the way. It begins nothing. */
  whileHeld?: Act<Facts, PartPrepared>;
  /** Fields of the status that stay as they are in a pass that does not prepare it. */
  keeps?: readonly StatusInput[];
  /** Does what writing the objects does not do, after it. Something in the way holds it back, too. */
  step?: Act<WrittenFacts, PartReport>;
  /** Returns what the status says of it. */
  report?: (facts: WrittenFacts) => PartReport;
};
