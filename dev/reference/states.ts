import type { BackupFailureReason } from '../../src/schema/wire/backup-message.ts';
import type { ReplaceFailureReason } from '../../src/schema/wire/restore-message.ts';
import type { ObjectFault } from '../../src/schema/platform/objects/object-fault.ts';

/** Why a backup fails. */
const BACKUPS: Record<BackupFailureReason, string> = {
  TargetMissing:
    'the installation has no target of this name, or its bucket or Secret is not there. See docs/how-to/backups.md.',
  TargetUnreachable:
    'the store does not answer, or says that it is overloaded. The backup is tried again.',
  TargetRefused:
    'the store refuses the backup. The message quotes it. Check the credential and its permissions.',
  NoRoom: 'the store is full. Make room, or keep fewer backups.',
  TargetNotEmpty:
    "another's files are in the folder of the deployment. Give the target another prefix.",
  DumpFailed: 'the dump failed. The message quotes pg_dump. It is tried again.',
  CopyFailed: 'the base backup failed. The message quotes pgBackRest. It is tried again.',
};

/** Why a restore fails. */
const RESTORES: Record<ReplaceFailureReason, string> = {
  BackupMissing: 'no backup of the tenant has this name, or the folder at the target has none.',
  TimeNotKept: 'the oldest backup is later than `at`.',
  SchemaTooNew:
    'the backup is of a newer schema, or of a newer Postgres, than this installation has.',
  KeysMissing:
    "the backup needs encryption keys that GX_AES_KEY in the deployment's Secret does not hold. The message has their ids.",
  DatabaseNotEmpty: 'the database already holds data. Only a new database is restored.',
  TargetMissing:
    'the installation has no target of this name, or its bucket or Secret is not there.',
  TargetUnreachable: 'the store does not answer. The restore is tried again.',
  TargetRefused: 'the store refuses the read. The message quotes it.',
  RestoreFailed:
    'the database accepted nothing. The message quotes pg_restore, psql or pgBackRest. It is tried again, unless the deployment was running already.',
  VolumeMissing: '`volume` is none of `status.formerVolumes`.',
  Hibernated: 'the data of a deployment that hibernates is not replaced.',
  RequestTooOld: '`replaceRequestedAt` is more than a day ago. Use the current time.',
  BackupFailed: 'the present data could not be backed up, so nothing was replaced.',
};

/** Adds the reasons of a condition to those of others, which may have the same. */
const mergeReasons = (
  condition: string,
  reasons: Record<string, string>,
  others: Record<string, string>,
): Record<string, string> => ({
  ...others,
  ...Object.fromEntries(
    Object.entries(reasons).map(([reason, means]) => {
      const before = others[reason] === undefined ? '' : `${others[reason]} `;
      return [reason, `${before}Of ${condition}: ${means}`];
    }),
  ),
});

/** The reasons of conditions that are not failures of a revision, by kind. `REASONS` holds the failures. */
export const STATES: Record<string, Record<string, string>> = {
  deployment: {
    Suspended: '`spec.suspend` pauses reconciling.',
    RevisionMissing: 'The revision of the current spec is being created.',
    EarlierDeployment:
      'Revisions of an earlier deployment of this name are still being deleted. Work begins after that.',
    IdTaken:
      'Another deployment of the tenant has the id that `spec.id` claims: as its uid, or because it claimed it earlier. Create this one again without it. Until then REST knows it by its uid.',
    RollingOut: 'The newest revision is being rolled out. Its own conditions say how far it is.',
    Serving: 'The revision in `activeRevision` answers requests.',
    NothingDeployed: 'No revision has been deployed yet.',
    NoReplicaAvailable: 'No api pod of the active revision is ready.',
    ScaledToZero:
      'The active revision asks for no api pod (`minScale` 0). Ready is True, because the spec asks for it.',
    Hibernating: '`hibernate` is set, and the pods are stopping.',
    Hibernated:
      '`hibernate` is set, and no pod is left. The data is kept. Ready is True, because the spec asks for it.',
    Ready: 'Of DatabaseReady: the managed database answers.',
    External: 'Of DatabaseReady: the database is an external one.',
    FollowsLoad: 'Of ApiScaled: the number of api pods follows their CPU.',
    NotScaledYet: 'Of ApiScaled: the autoscaler has not reported yet.',
    NoMetrics:
      'Of ApiScaled: the autoscaler gets no metrics, usually because the cluster has no metrics server. `minScale` holds.',
    Paused: 'Of ApiScaled: there is no api pod, and the autoscaler pauses.',
    StoreReady: 'Of StoreReady: the key-value store takes connections.',
    StoreNotReady:
      'Of StoreReady: its pod is not ready. Streams go through the database meanwhile.',
    Making: 'Of PasswordRotated: the next password is being created.',
    SettingPassword: 'Of PasswordRotated: a Job gives the database the next password.',
    CredentialLost:
      "Of PasswordRotated: the Secrets of the managed database's logins were deleted, and nobody knows a password. See docs/how-to/databases.md.",
    ReplacingPods: 'Of PasswordRotated: both passwords work while the pods are replaced in turn.',
    WaitsForTurn:
      'Of DatabaseRenewed: as many databases of its tenant restart at a time as `settings.databases.atOnce` allows.',
    WaitsForWindow:
      'Of DatabaseRenewed: it is not yet the time of the day that `settings.databases.window` names.',
    RetiringPassword: 'Of PasswordRotated: a Job closes the login of the former password.',
    NearlyFull: "Of VolumeHasRoom: the database's volume is 80 % full. Raise `dbStorageGi`.",
    AlmostFull:
      "Of VolumeHasRoom: the database's volume is 90 % full. Raise `dbStorageGi` before the database becomes read-only.",
    Full: "Of VolumeHasRoom: the database's volume is almost full, and the database accepts no writes until there is room. Raise `dbStorageGi`.",
    Growing: 'Of VolumeGrown: the volume is being enlarged.',
    NotExpandable: 'Of VolumeGrown: the storage class does not allow its volumes to grow.',
    NeverShrinks:
      'Of VolumeGrown: the spec asks for less storage than the volume has. It stays as it is.',
    NameTaken: 'Of TracingProjectShared: an older deployment of the tenant has this name.',
    Automounted: 'Of TokenMounted: `automountServiceAccountToken` of the serving revision is true.',
    NotBuiltYet: 'Of FieldsWithoutEffect: the message names the fields.',
    NoRoutes:
      'Of FieldsWithoutEffect: the installation has no routes, and customUrl is shown as the URL all the same.',
    AskedFor: 'Of Unauthenticated: the mode of auth is open.',
    NoKey: 'Of Unauthenticated: its pods started without the key of the deployment.',
    GuardUnknown:
      'Of Unauthenticated, which is Unknown, and of Asleep: no pod has reported to the gateway how it decides who may call. The deployment stays awake.',
    InUse: 'Of Asleep: it was used recently, or has work.',
    OwnHandlers:
      'Of Asleep: handlers of `auth.path` decide who may call, so the gateway does not know who may wake it. It stays awake.',
    WokenByRequest: 'Of Asleep: a request of a permitted caller woke it.',
    DueSoon: 'Of Asleep: it woke for a delayed run or a cron.',
    WorkFound: 'Of Asleep: it woke for a run that was made while it fell asleep.',
    SpecChanged: 'Of Asleep: it woke for another revision.',
    RolloutMoved: 'Of Asleep: it woke because the rollout continues, or was aborted.',
    DataReplaced: 'Of Asleep: it woke because a restore replaces its data.',
    NoGateway:
      "Of Asleep: no replica of the gateway is ready, so it stays awake. Of FieldsWithoutEffect: none is installed, so the server's version, its mount prefix and how it decides who may call are not known.",
    Idle: 'Of Asleep: nobody has used it for a while, so it sleeps.',
    Asleep: 'It sleeps, and wakes by itself. Ready is True, because the spec asks for it.',
    FallingAsleep: 'The pods are being stopped, because nobody has used it for a while.',
    AtRest: 'Of QueueScaled: there are as many queue pods as the work needs.',
    Backlog:
      'Of QueueScaled: work waited for a worker, so there are more queue pods. The message has the counts at that time.',
    Quiet:
      'Of QueueScaled: fewer queue pods were enough for a while, so there are fewer. A run under way finishes or is handed over.',
    NotReported:
      'Of QueueScaled: the agents have not reported their work lately, so the queue pods stay as they are.',
    AskedByOthers: 'Of QueueScaled: `queueReplicas` says how many queue pods there are.',
    PinnedWork:
      'Of Draining: replaced revisions keep runs or threads. The message has the counts of the last report.',
    Drained: 'Of Draining: a replaced revision has no work left.',
    PinExpired:
      'Of Draining: the serving revision took over the work of a replaced one, because `pinSeconds` are over.',
    Released: 'Of Draining: the same, because someone requested it.',
    TooManyDraining:
      'Of Draining: the same, because more revisions than `maxDraining` would keep work.',
    NotCounted:
      'Of Draining: the same, because its agents do not count the pinned ones. Those of earlier versions pin nothing.',
    NothingEnforced:
      'Of PodSecurityOpen: the namespace has no label `pod-security.kubernetes.io/enforce` with `restricted` or `baseline`.',
    Accepted:
      'Of Routed: every parent of the HTTPRoute accepts it. A parent that refuses gives its own reason, such as `NoMatchingListenerHostname`.',
    HasAddress: 'Of Routed: the Ingress has the address of a load balancer.',
    NoAddressYet:
      'Of Routed, which is Unknown: no controller has given the Ingress an address. Some never do.',
    NotAnswered:
      'Of Routed, which is Unknown: a parent of the HTTPRoute has not answered. It may not exist, or no controller works for it.',
    RouteKindMissing:
      'Of Routed: the cluster has no kind HTTPRoute. Install the Gateway API; the route is made within a minute.',
    RouteRefused:
      'Of Routed: the API server, a webhook or a quota refuses the route. The message quotes it. It is tried again from time to time.',
    HostInvalid:
      'Of Routed: the host that the pattern gives is too long or not valid. Name another in `spec.route.hosts`.',
    HostNotAllowed:
      'Of Routed: the Listener of the namespace does not name the host, and an administrator adds it to `spec.hosts` there; or the host is reserved, and the deployment names another.',
    HostTaken: 'Of Routed: another deployment has the host and path. The message names it.',
    PathNotAllowed:
      'Of Routed: all deployments have the host, so the path must begin with the one by the pattern.',
    PathNotStripped:
      "Of Routed: an Ingress does not rewrite paths, so its path must be the server's mount prefix, or `/`.",
    NoProxyConfigured:
      'Of ProxyNotAdmitted: `settings.route.proxies` is empty. Name the proxy there, or label its namespace `gx.dev/gateway=true`.',
    BackedUp: 'Of BackedUp: the newest backup is as recent as the schedule requires.',
    NoBackupYet: 'Of BackedUp, which is Unknown: no backup has ended yet.',
    ScheduleInvalid:
      'Of BackedUp: the schedule or its time zone is not valid. The message says why.',
    TargetUnfit: 'Of BackedUp: `method: continuous` needs a target that speaks S3 by TLS.',
    PodTooOld:
      'Of BackedUp: the pod of the database was made by an earlier version, which can not archive its log. It has to restart once.',
    VerificationWaits:
      'Of BackedUp: there are backups, but the Job of a verification has no pod. The message says why.',
    VerificationFailed:
      'Of BackedUp: the newest verification of a backup failed. The message says how.',
    Overdue:
      'Of BackedUp: a backup has been overdue for longer than it may take. The message says what it waits for.',
    Restoring:
      'The backup is being restored, or waits for the database. Of Restored, too, which is Unknown.',
    WaitsForBackup: 'Of Restored, which is Unknown: the backup is still being made.',
    Restored:
      'Of Restored: the backup has been restored. The message says which point in time it holds.',
    ...mergeReasons('Restored', RESTORES, mergeReasons('BackedUp', BACKUPS, {})),
    AwaitingBackup:
      'The deployment was deleted, and waits for a backup of its data. The message says until when, and how to continue without one. Of BackedUp, too, which is Unknown.',
    LastBackupMade: 'Of BackedUp: the backup before the deletion is made. The message names it.',
    NoLastBackup:
      'Of BackedUp: the deletion continues without a backup, because there is nothing to back up. The message says why.',
    DataKept:
      'Of BackedUp: no backup could be made before the deletion. The volume stays; the message names its claim.',
    Deleting: 'The deployment was deleted, and its objects are being removed.',
    Deleted: 'All its objects are gone.',
  },
  revision: {
    Suspended: '`spec.suspend` pauses reconciling.',
    Creating: 'The operator has not seen its deployment yet.',
    AwaitingBuild: 'The builder has not started.',
    BuildQueued: 'Its build waits for others to end. The message says how many are before it.',
    GitHostAway: 'The git host does not answer; the operator tries again.',
    Building: 'The builder is running.',
    Built: 'Of BuildSucceeded: the message names the image.',
    Unknown: 'Its deployment was deleted.',
    Queued: 'The revision waits for its turn.',
    AwaitingDeploy: 'Its pods are about to be created.',
    Deploying: 'Its pods are starting.',
    RollingOut: 'It is being rolled out.',
    RolledOut: 'Of RolledOut: every pod has been ready.',
    Deployed: 'It was rolled out. `activeRevision` of its deployment says whether it serves.',
    Skipped: 'A newer revision was requested before its turn.',
    Failed: 'It failed, and nothing more is known.',
    Hibernated: 'The deployment hibernates. The rollout begins when it wakes.',
    PinnedWork: 'Of Draining: the message has the counts of the last report.',
    Restoring: 'It waits until the backup of its database is restored, or its data is replaced.',
  },
  backup: {
    Complete: 'It is complete, and is listed in the catalogue of its target.',
    ...BACKUPS,
  },
  listener: {
    Settled: 'Every namespace that it names belongs to it.',
    NamespaceTaken:
      'An older listener of the tenant has one of the namespaces. The message names both.',
    NamespaceNotJoined:
      "A namespace has not joined the listener's tenant. The message names it, and the label that its owner sets.",
  },
};

/** The meaning of an object's faults. One without an entry does not compile. */
const FAULTS: Record<ObjectFault['reason'], string> = {
  TooDeep:
    'The object is nested too deep. The operator leaves it as it is, and the objects that it has already made stay. Write another one, or delete it.',
  TooLarge: 'The object is too large: its spec may have 256 KiB. The operator leaves it as it is.',
  Unreadable:
    'Of an event: the object has a shape that the operator does not understand. It is ignored until it is written again.',
};

/** Reasons that every kind can have. */
export const COMMON: Record<string, string> = {
  ...FAULTS,
  Forbidden:
    'The operator lacks a permission. The message names it. The operator tries again from time to time.',
  ReconcileFailed:
    'A step failed. The message says how. The operator tries again from time to time.',
};
