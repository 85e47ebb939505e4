import * as conditions from '../../src/schema/conditions.ts';
import type { FailureReason, RevisionStatus } from '../../src/schema/revision.ts';

/** When a revision is in each phase. */
export const PHASES: Record<RevisionStatus, string> = {
  CREATING: 'It was made, and the operator has not taken it up.',
  QUEUED: 'An earlier revision is being built or rolled out, or the deployment hibernates.',
  AWAITING_BUILD: 'From git: the Job of its build is made, and the builder has not started. A newer revision goes before it.',
  BUILDING: 'From git: the builder runs.',
  AWAITING_DEPLOY: 'Its image is there; it waits for the database, which the pods of a first revision start beside, or for its Secret.',
  DEPLOYING: 'Its pods start, first those of the api, then those of the queue, then traffic is switched.',
  DEPLOYED: 'It served. It stays so when a later one serves: `active_revision_id` tells which one does.',
  CREATE_FAILED:
    'The API server or an admission policy refuses its objects before a workload is there, so that no pod could ever come. What is refused later, or by a quota until the deadline, is `DEPLOY_FAILED`.',
  BUILD_FAILED: 'From git: the builder failed, took too long, got no room in a quota, told no image of the right name, or there is none.',
  DEPLOY_FAILED: 'It did not roll out: its pods failed, were not ready in time, or found no room in a quota.',
  SKIPPED: 'A newer revision came before its turn.',
  INTERRUPTED: 'Somebody interrupted it before it served.',
  UNKNOWN: 'Its deployment is gone or going before it has ended: nothing more can be told of it.',
};

/** What a failure's reason means, and what to do about it. A reason without an entry does not compile. */
export const REASONS: Record<FailureReason, { means: string; remedy: string }> = {
  ImagePullFailed: {
    means: 'The node could not pull the image.',
    remedy: 'Check `image_uri`, that the registry answers from the node, and `image_pull_secrets`.',
  },
  CrashLooping: {
    means: "A container can't be started, or ends again and again right after its start.",
    remedy: 'Read the log lines in the status; a broken `gx.json` or a missing variable is named there.',
  },
  OOMKilled: {
    means: 'A container used more memory than its limit.',
    remedy: 'Raise `memory_mb` or `memory_limit_mb`; of a build, `settings.builder.memoryMb` of the chart.',
  },
  ProbeFailed: {
    means: 'The pods run, but `/ok` does not answer with success.',
    remedy: '`/ok` covers queue and database: look at the pod log and at the `DatabaseReady` condition.',
  },
  Unschedulable: {
    means: 'No node has room for the pods.',
    remedy: "Lower the requests, or add nodes; the message has the scheduler's words.",
  },
  QuotaExceeded: {
    means:
      'A quota of the namespace refuses the pods, or the very objects that would make them. The revision goes on once there is room, until its deadline.',
    remedy: 'Raise the ResourceQuota, or lower replicas and requests; after the deadline, ask for the revision again.',
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
  BuildFailed: {
    means: 'The image could not be built from the repository.',
    remedy: 'Read the sentence and the last log lines, or the whole log with `type=build`; then ask for a revision again.',
  },
  BuilderMissing: {
    means: 'This installation has no builder for source `git`.',
    remedy:
      'Build the image elsewhere and deploy it with source `external_container`, or give the installation a builder (docs/how-to/build-from-git.md).',
  },
  DeadlineExceeded: {
    means: 'The revision was not ready, or its build not done, within its deadline.',
    remedy:
      'Look at the pods; raise `progressDeadlineSeconds`, or `settings.builder.deadlineSeconds` of the chart, when it only takes long.',
  },
  SpecChanged: {
    means: 'Somebody changed what stands in a revision.',
    remedy: 'Revisions are fixed: change the Deployment, which makes a new one.',
  },
  Refused: {
    means:
      'The API server or an admission policy refuses an object that the deployment asks for: `CREATE_FAILED` before there is a workload, else `DEPLOY_FAILED`. An object that has the name already and is not ours is left alone, too. Or a node does not let a container run, as one whose image would run as root.',
    remedy: "The message has its words: usually a field of `resource_spec`, or an administrator's policy.",
  },
  Interrupted: { means: 'Somebody interrupted the revision before it was deployed.', remedy: 'Ask for it again by redeploying it.' },
};

/** What each condition says when it is True. */
export const CONDITIONS: Record<string, string> = {
  [conditions.READY]:
    'All that was asked for is there and does well. False with Stalled while the newest revision has failed, even when the former one serves; False with Reconciling while pods of the serving one are broken.',
  [conditions.RECONCILING]: 'Something is on its way. Absent otherwise.',
  [conditions.STALLED]: 'It will not get better by itself: the reason says what to change. Absent otherwise.',
  [conditions.SUSPENDED]:
    'Reconciling is paused by `spec.suspend`; the other conditions are as old as their own `observedGeneration` says. Absent otherwise.',
  [conditions.SERVING]: 'A revision answers requests, whether or not it is the newest.',
  [conditions.DATABASE_READY]:
    'The database takes connections. Of an external one (reason `External`): its Secret is good, and not every pod says the contrary.',
  [conditions.PASSWORD_ROTATED]: 'Never told. False while the password of the own database is being changed. Absent otherwise.',
  [conditions.ROLES_SEPARATED]:
    'Never told. False while a database made when its agents were superusers is being given the roles of today. Absent otherwise.',
  [conditions.VOLUME_HAS_ROOM]:
    "Never told. False while the own database's volume is 80 % full (`NearlyFull`), 90 % (`AlmostFull`), or so full that the database takes no writes (`Full`). Absent otherwise.",
  [conditions.VOLUME_GROWN]:
    'Never told. False while the volume has another size than is asked for: smaller, or larger (`NeverShrinks`). Absent otherwise.',
  [conditions.ROLLED_OUT]: 'Both workloads of the revision were ready.',
  [conditions.BUILD_SUCCEEDED]: 'The image was built from the repository.',
  [conditions.FIELDS_WITHOUT_EFFECT]: 'Fields are stored whose function is not built yet; the message names them.',
  [conditions.UNAUTHENTICATED]: 'The deployed agent asks nobody for credentials.',
};
