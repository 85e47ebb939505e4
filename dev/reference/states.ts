/** What the reasons of conditions say that are no failures of a revision (those stand in `REASONS`), by the kind that has them. */
export const STATES: Record<string, Record<string, string>> = {
  deployment: {
    RevisionMissing: 'The revision of the present spec is being made.',
    EarlierDeployment: 'Revisions of an earlier deployment of this name are still going; the work begins after them.',
    TracingProjectTaken: 'Another deployment of the tenant has a tracing project of this name: choose another name.',
    RollingOut: 'The newest revision is on its way; its own conditions say how far it is.',
    Serving: 'The revision in `activeRevision` answers requests.',
    NothingDeployed: 'No revision has been deployed yet.',
    NoReplicaAvailable: 'No api pod of the active revision is ready.',
    ScaledToZero: 'The active revision asks for no api pod (`minScale` 0). As asked for, so Ready is True.',
    Hibernating: '`hibernate` is set, and the pods are being stopped.',
    Hibernated: '`hibernate` is set, and no pod is left; the data is kept. As asked for, so Ready is True.',
    Ready: 'Of DatabaseReady: the own database answers.',
    External: 'Of DatabaseReady: the database is an external one.',
    Making: 'Of PasswordRotated: the next password is being made.',
    SeparatingRoles: "A Job takes the agents' login its rights of a superuser of the own database.",
    SettingPassword: 'Of PasswordRotated: a Job tells the database the next password.',
    ReplacingPods: 'Of PasswordRotated: both passwords work while the pods are replaced in turn.',
    RetiringPassword: 'Of PasswordRotated: a Job takes the former password its login.',
    Growing: 'Of VolumeGrown: the volume is being enlarged.',
    NotExpandable: 'Of VolumeGrown: the storage class does not allow its volumes to grow.',
    NotBuiltYet: 'Of FieldsWithoutEffect: the message names the fields.',
    NoGuardKnown: "Of Unauthenticated: the operator can't see whether the agent's gx.json configures a guard.",
    Deleting: 'The deployment was deleted, and what it had is being taken away.',
    Deleted: 'Nothing of it is left.',
  },
  revision: {
    Queued: 'The revision waits for its turn.',
    AwaitingDeploy: 'Its pods are about to be made.',
    Deploying: 'Its pods are starting.',
    RollingOut: 'It is on its way.',
    RolledOut: 'Of RolledOut: every pod was ready.',
    Deployed: 'It was rolled out. Whether it serves, `activeRevision` of its deployment says.',
    Skipped: 'A newer revision was asked for before this one got its turn.',
    Failed: 'It ended, and no more is known of why.',
    Hibernated: 'The deployment hibernates; the rollout begins when it wakes.',
  },
  listener: {
    Settled: 'Every namespace that it names is its own.',
    NamespaceTaken: 'Another listener, which is older, has one of the namespaces; the message names both.',
  },
};

/** Reasons that every kind can have. */
export const COMMON: Record<string, string> = {
  Suspended: 'Reconciling is paused by `spec.suspend`.',
  Forbidden: 'The operator lacks a right for what it has to do; the message names it. It tries again by and by.',
  ReconcileFailed: 'A step failed; the message says how. It tries again by and by.',
};
