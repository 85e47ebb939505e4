import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { isRestorePending } from '../../schema/platform/backup/restore-spec.ts';
import type { RevisionStatus } from '../../schema/platform/deployment/statuses.ts';
import type { Diagnosis } from '../pods/diagnose.ts';

/** Replicas of each workload. Undefined: it is not made, and if it is there it stays as it is. */
export type Wish = {
  api?: number;
  queue?: number;
  /** True if they are scaled down and nobody may scale them up again. */
  down?: true;
};

export type Decision = {
  phase: RevisionStatus;
  message: string;
  reason?: string;
  /** The fault of the pods. Its log is read when the revision ends. */
  diagnosis?: Diagnosis | undefined;
  wish: Wish;
  /** Whether the build's Job is made or given up. */
  build?: 'make' | 'drop';
  /** The image that the pods are to run and its commit, if they were found in this pass. */
  image?: string | undefined;
  commitSha?: string | undefined;
  /** Further results of the builder, if its build ended in this pass. */
  buildsWith?: 'buildkit';
  digest?: string;
  builderVersion?: string;
  /** The kind of processors that runs the image, if it was found in this pass. */
  architecture?: string | undefined;
  buildSeconds?: number;
  started: boolean;
  /** True if all pods are ready, so that the deployment may send it traffic. */
  complete?: boolean;
  /** True if a condition reports the rollout's end: once it serves, or when traffic is late. */
  rolledOut: boolean;
  /** A sentence on the work that it keeps although another one serves. */
  draining?: string;
  /** Seconds after which to look again, if nothing else wakes the revision. */
  again?: number;
};

export const STARTING = 'The pods are starting.';
export const SERVES = 'All pods are ready and the revision serves.';

/** Returns a decision that makes no pods. */
export const buildIdleDecision = (
  phase: RevisionStatus,
  message: string,
  more: Partial<Decision> = {},
): Decision => ({
  phase,
  message,
  wish: {},
  started: false,
  rolledOut: false,
  ...more,
});

/** Returns the decision while the backup of the deployment's database is still to be restored. */
export const decideWhileRestoring = (
  deployment: DeploymentResource | undefined,
): Decision | undefined =>
  deployment !== undefined && isRestorePending(deployment)
    ? buildIdleDecision(
        'AWAITING_DEPLOY',
        'Waiting until the backup of its database is restored.',
        { reason: 'Restoring' },
      )
    : undefined;
