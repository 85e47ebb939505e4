import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { ReconcileOutcome, StatedCondition } from '../kernel/outcome.ts';

export type DeploymentStatusFields = NonNullable<DeploymentResource['status']>;

/** The Secret that names the database: its name and version, or a sentence on its problem. */
export type DatabaseSecret = { secret: string; version?: string } | { problem: string };

export type PartReport = {
  statements?: StatedCondition[];
  status?: DeploymentStatusFields;
  /** Seconds after which to look again, each for a reason of its own. */
  again?: (number | undefined)[];
  /** The outcome while the deployment waits for this part. */
  unready?: ReconcileOutcome | undefined;
  /** A change that is under way while everything else is as asked. */
  underWay?: StatedCondition | undefined;
};

/** The result of preparing a part before the objects of its deployment are written. */
export type PartPrepared = PartReport & {
  /** The obstacle to all that follows. */
  trouble?: ReconcileOutcome;
  /** Its objects, where a read has shown that they are to be otherwise. */
  objects?: KubeObject[];
  /** The Secret with which pods are to be started. Undefined while none is known. */
  secret?: DatabaseSecret | undefined;
};
