import * as conditions from '../../src/schema/conditions.ts';
import type { FailureReason } from '../../src/schema/revision.ts';

/** What a failure's reason means, and what to do about it. A reason without an entry does not compile. */
export const REASONS: Record<FailureReason, { means: string; remedy: string }> = {
  ImagePullFailed: {
    means: 'The node could not pull the image.',
    remedy: 'Check `image_uri`, that the registry answers from the node, and `image_pull_secrets`.',
  },
  CrashLooping: {
    means: 'A container ends again and again right after its start.',
    remedy: 'Read the log lines in the status; a broken `gx.json` or a missing variable is named there.',
  },
  OOMKilled: { means: 'A container used more memory than its limit.', remedy: 'Raise `memory_mb` or `memory_limit_mb`.' },
  ProbeFailed: {
    means: 'The pods run, but `/ok` does not answer with success.',
    remedy: '`/ok` covers queue and database: look at the pod log and at the `DatabaseReady` condition.',
  },
  Unschedulable: {
    means: 'No node has room for the pods.',
    remedy: "Lower the requests, or add nodes; the message has the scheduler's words.",
  },
  QuotaExceeded: {
    means: 'A quota of the namespace, or its policy, refuses the pods.',
    remedy: 'Raise the ResourceQuota, or lower replicas and requests.',
  },
  DatabaseNotReady: {
    means: 'The database does not answer, or the Secret of an external one is missing or is no address.',
    remedy: 'The message says which. Look at the StatefulSet, its pod and its volume claim; of an external database, at its Secret.',
  },
  MigrationFailed: {
    means: 'The agent server could not bring the database schema to its version.',
    remedy: 'Read the log lines; a schema of a newer major version needs a newer image.',
  },
  SecretMissing: {
    means: 'A Secret the pods refer to is not there.',
    remedy: 'Create it, then ask for the revision again with `requestedAt`.',
  },
  BuildFailed: { means: 'The image could not be built from the repository.', remedy: 'Read the build log.' },
  BuilderMissing: {
    means: 'This installation has no builder for source `git`.',
    remedy: 'Build the image elsewhere and deploy it with source `external_container`.',
  },
  DeadlineExceeded: {
    means: 'The revision was not ready within its deadline.',
    remedy: 'Look at the pods; raise `progressDeadlineSeconds` when the start only takes long.',
  },
  SpecChanged: {
    means: 'Somebody changed what stands in a revision.',
    remedy: 'Revisions are fixed: change the Deployment, which makes a new one.',
  },
  Refused: {
    means: 'The API server refuses an object that the deployment asks for.',
    remedy: 'The message has its words: usually a field of `resource_spec`.',
  },
  Interrupted: { means: 'Somebody interrupted the revision before it was deployed.', remedy: 'Ask for it again by redeploying it.' },
};

/** What each condition says when it is True. */
export const CONDITIONS: Record<string, string> = {
  [conditions.READY]:
    'All that was asked for is there. False with Stalled while the newest revision has failed, even when the former one serves.',
  [conditions.RECONCILING]: 'Something is on its way. Absent otherwise.',
  [conditions.STALLED]: 'It will not get better by itself: the reason says what to change. Absent otherwise.',
  [conditions.SUSPENDED]:
    'Reconciling is paused by `spec.suspend`; the other conditions are as old as their own `observedGeneration` says. Absent otherwise.',
  [conditions.SERVING]: 'A revision answers requests, whether or not it is the newest.',
  [conditions.DATABASE_READY]:
    'The database takes connections. Of an external one (reason `External`): its Secret is good, and not every pod says the contrary.',
  [conditions.PASSWORD_ROTATED]: 'Never told. False while the password of the own database is being changed. Absent otherwise.',
  [conditions.VOLUME_GROWN]: 'Never told. False while the volume is smaller than asked for. Absent otherwise.',
  [conditions.ROLLED_OUT]: 'Both workloads of the revision were ready.',
  [conditions.BUILD_SUCCEEDED]: 'The image was built from the repository.',
  [conditions.FIELDS_WITHOUT_EFFECT]: 'Fields are stored whose function is not built yet; the message names them.',
  [conditions.UNAUTHENTICATED]: 'The deployed agent asks nobody for credentials.',
};
