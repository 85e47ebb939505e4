import * as conditions from '../../src/schema/platform/objects/conditions.ts';
import type {
  FailureReason,
  RevisionStatus,
} from '../../src/schema/platform/deployment/statuses.ts';

export const PHASES: Record<RevisionStatus, string> = {
  CREATING: 'It exists, and the operator has not started on it.',
  QUEUED: 'An earlier revision is being built or rolled out, or the deployment hibernates.',
  AWAITING_BUILD:
    'From git: the Job of its build exists, and the builder has not started. A newer revision replaces it.',
  BUILDING: 'From git: the builder runs.',
  AWAITING_DEPLOY:
    'Its image exists. It waits for the database, which starts beside the pods of a first revision, or for its Secret.',
  DEPLOYING: 'Its pods start: first the api pods, then the queue pods. Then traffic is switched.',
  DEPLOYED:
    'It has served. It keeps this status when a later one serves: `active_revision_id` says which one does.',
  CREATE_FAILED:
    'The API server or an admission policy refused its objects before a workload existed, so no pod could ever start. A later refusal, or a quota until the deadline, is `DEPLOY_FAILED`.',
  BUILD_FAILED:
    'From git: the builder failed, took too long, found no room in a quota, reported no image of the right name, or there is no builder.',
  DEPLOY_FAILED: 'Its pods failed, were not ready in time, or found no room in a quota.',
  SKIPPED: 'A newer revision arrived before its turn.',
  INTERRUPTED: 'Somebody interrupted it before it served.',
  UNKNOWN: 'Its deployment was deleted before it ended. Nothing more is known about it.',
};

/** The meaning of a failure's reason, and the remedy. A reason without an entry does not compile. */
export const REASONS: Record<FailureReason, { means: string; remedy: string }> = {
  ImagePullFailed: {
    means: 'The node could not pull the image.',
    remedy: 'Check `image_uri`, that the registry answers from the node, and `image_pull_secrets`.',
  },
  CrashLooping: {
    means: "A container can't start, or exits again and again right after its start.",
    remedy: 'Read the log lines in the status. They name a broken `gx.json` or a missing variable.',
  },
  OOMKilled: {
    means: 'A container used more memory than its limit.',
    remedy: 'Raise `memory_mb` or `memory_limit_mb`.',
  },
  ProbeFailed: {
    means: 'The pods run, but `/ok` does not report success.',
    remedy:
      '`/ok` covers queue and database. Look at the pod log and at the `DatabaseReady` condition.',
  },
  Unschedulable: {
    means: 'No node has room for the pods.',
    remedy: 'Lower the requests, or add nodes. The message quotes the scheduler.',
  },
  QuotaExceeded: {
    means:
      'A quota of the namespace refuses the pods, or the objects that create them. The revision continues once there is room, until its deadline.',
    remedy:
      'Raise the ResourceQuota, or lower replicas and requests. After the deadline, ask for the revision again.',
  },
  DatabaseNotReady: {
    means:
      'The database does not answer, or the Secret of an external one is missing or holds no address.',
    remedy:
      'The message says which. For a managed database, look at the StatefulSet, its pod and its volume claim. For an external one, look at its Secret.',
  },
  MigrationFailed: {
    means: 'The agent server could not bring the database schema to its version.',
    remedy:
      'Read the log lines. A schema of a newer major version needs a newer image. One of a version before the first release needs an empty database.',
  },
  SecretMissing: {
    means: 'A Secret that the pods refer to does not exist.',
    remedy: 'Create it, then ask for the revision again with `requestedAt`.',
  },
  BuildFailed: {
    means: 'The image could not be built from the repository.',
    remedy:
      'Read the message and the last log lines, or the complete log with `type=build`. Then ask for a revision again.',
  },
  BuilderMissing: {
    means: 'This installation has no builder for source `git`.',
    remedy:
      'Build the image elsewhere and deploy it with source `external_container`, or give the installation a builder (docs/how-to/build-from-git.md).',
  },
  CloneFailed: {
    means:
      'The repository could not be fetched: its host does not answer, refuses the credential, or does not have it.',
    remedy:
      "Read the message. Look at the integration's host, credential and repositories (docs/how-to/build-from-git.md).",
  },
  RefMissing: {
    means: 'The repository has no such branch or tag.',
    remedy: 'Name another `repo_ref`, or push it.',
  },
  ConfigMissing: {
    means: 'The repository has no gx.json at `gx_config_path`, or the file is unreadable.',
    remedy: 'Correct the path or the file. Then ask for a revision again.',
  },
  InstallFailed: {
    means: 'The packages of the repository could not be installed.',
    remedy:
      "Read the message and the last log lines. Usually a lock file does not match its project, an index lacks the package, or the build can't reach a registry (docs/reference/builder.md).",
  },
  PushFailed: {
    means: 'The image was built but could not be pushed to the registry.',
    remedy:
      "Check the registry's credential in the build namespace, and the registry's free space.",
  },
  OutOfMemory: {
    means: 'A build needed more memory than its limit.',
    remedy: 'Raise `builds.memoryMb`, or make the build smaller.',
  },
  DiskFull: {
    means: 'A build wrote more than its limit, or its node has no free space.',
    remedy: 'Raise `builds.diskMb`, or make the repository and its packages smaller.',
  },
  UserNamespacesOff: {
    means: 'The build needs user namespaces, and the cluster has none.',
    remedy:
      'Build without `dockerfile`, `dockerfile_lines` and another `base_image`, or turn user namespaces on (Kubernetes 1.33, containerd 2.0 or CRI-O 1.25, Linux 6.3).',
  },
  DeadlineExceeded: {
    means: 'The revision was not ready, or its build not finished, before its deadline.',
    remedy:
      'Look at the pods. If they only need more time, raise `progressDeadlineSeconds`, or `builds.deadlineSeconds` of the chart.',
  },
  SpecChanged: {
    means: 'Somebody changed the spec of a revision.',
    remedy: 'Revisions never change. Change the Deployment, which makes a new one.',
  },
  Refused: {
    means:
      'The API server or an admission policy refuses an object that the deployment asks for: `CREATE_FAILED` before a workload exists, otherwise `DEPLOY_FAILED`. The same goes for an object whose name another object has, and for a container that a node does not let run, such as one whose image would run as root.',
    remedy:
      "The message quotes it. Usually it is a field of `resource_spec` or an administrator's policy.",
  },
  Interrupted: {
    means: 'Somebody interrupted the revision before it was deployed.',
    remedy: 'Redeploy it.',
  },
  RolloutAborted: {
    means:
      'The revision had a share of the new threads, and its rollout was aborted. The former revision keeps serving. The message says why.',
    remedy: 'Deploy it again once the reason is gone. See docs/how-to/roll-out.md.',
  },
};

/** The meaning of the conditions of deployments and their revisions when they are True. */
const OF_ROLLOUTS: Record<string, string> = {
  [conditions.READY]:
    'Everything in the spec exists and works. False with Stalled while the newest revision has failed, even if the former one serves. False with Reconciling while pods of the serving one are broken.',
  [conditions.SUSPENDED]:
    '`spec.suspend` pauses reconciling. The other conditions are as old as their own `observedGeneration` says. Absent otherwise.',
};

/** The same of conditions that every kind may have. */
const OF_ALL: Record<string, string> = {
  [conditions.RECONCILING]: 'Work is in progress. Absent otherwise.',
  [conditions.STALLED]:
    'It will not recover by itself. The reason says what to change. Absent otherwise.',
};

/** The meaning of each condition when it is True, by kind. */
export const CONDITIONS: Record<string, Record<string, string>> = {
  deployment: {
    ...OF_ROLLOUTS,
    ...OF_ALL,
    [conditions.SERVING]: 'A revision answers requests, whether or not it is the newest.',
    [conditions.DATABASE_READY]:
      'The database accepts connections. For an external one (reason `External`): its Secret holds an address, and some pod is ready.',
    [conditions.FOLLOWS_BRANCH]:
      'Never True. False while the branch whose pushes make revisions is missing or its host does not answer, as of the last check. Absent otherwise.',
    [conditions.PASSWORD_ROTATED]:
      'Never True. False while the password of the managed database is being changed. Absent otherwise.',
    [conditions.DATABASE_RENEWED]:
      'Never True. False while the managed database waits to restart, as the annotation `gx.dev/renew-database` asks. Absent otherwise.',
    [conditions.ASLEEP]:
      'It has no pods because it was idle, and it wakes by itself. Absent unless `minScale` is 0.',
    [conditions.QUEUE_SCALED]:
      'As many queue pods are ready as their work, or `queueReplicas`, asks for. Absent while their number is fixed.',
    [conditions.VOLUME_HAS_ROOM]:
      "Never True. False while the managed database's volume is 80 % full (`NearlyFull`), 90 % (`AlmostFull`), or so full that the database accepts no writes (`Full`). Absent otherwise.",
    [conditions.VOLUME_GROWN]:
      'Never True. False while the volume does not have the requested size: it is smaller, or larger (`NeverShrinks`). Absent otherwise.',
    [conditions.API_SCALED]:
      'An autoscaler of Kubernetes sets the number of api pods by their CPU. False while it gets no metrics: `minScale` holds. Absent while their number is fixed.',
    [conditions.STORE_READY]:
      'The key-value store for streams takes connections. Nothing waits for it. Absent where `redisMemoryMb` is not set.',
    [conditions.FIELDS_WITHOUT_EFFECT]:
      "Some fields are stored but have no effect, and the message names them; or no gateway is installed, so the server's version, its mount prefix and how it decides who may call are not known.",
    [conditions.UNAUTHENTICATED]:
      'The agents ask callers for no credentials. Unknown while no pod has reported whether they do. Absent when they do, and while nothing serves.',
    [conditions.TOKEN_MOUNTED]:
      "The agents' pods have a token of their ServiceAccount. The message names it. Absent otherwise.",
    [conditions.POD_SECURITY_OPEN]:
      'The namespace takes pods of any kind, because it enforces no pod security. Absent otherwise, and where no Listener names the namespace.',
    [conditions.DRAINING]:
      'Replaced revisions keep runs or threads that are pinned to them. False with the reason of the last that ended. Absent before the first.',
    [conditions.BACKED_UP]:
      'There is a backup as recent as the schedule requires. Absent unless `spec.database.backup` asks for backups.',
    [conditions.RESTORED]:
      'The backup that `spec.database.restore` names has been restored. No agent starts before that. False after a restore into a running deployment has failed: everything is as it was. Absent unless a restore is requested.',
    [conditions.ROUTED]:
      'Its route leads callers from outside to it: the parents of its HTTPRoute accept it, or its Ingress has an address. Serving and Ready do not depend on it. Absent where it has no route.',
    [conditions.PROXY_NOT_ADMITTED]:
      'It has a route, but its NetworkPolicy is not known to admit any proxy. Absent otherwise.',
    [conditions.TRACING_PROJECT_SHARED]:
      'An older deployment of the tenant has the same name, so both have one tracing project. Absent otherwise.',
  },
  revision: {
    ...OF_ROLLOUTS,
    ...OF_ALL,
    [conditions.ROLLED_OUT]: 'Both workloads of the revision have been ready.',
    [conditions.DRAINING]:
      'Another revision serves, and this one keeps runs or threads that are pinned to it. Absent otherwise.',
    [conditions.BUILD_SUCCEEDED]: 'The image was built from the repository.',
  },
  backup: {
    [conditions.READY]: 'It is complete.',
    ...OF_ALL,
  },
  listener: {
    [conditions.READY]: 'It has every namespace that it names.',
    ...OF_ALL,
  },
};
