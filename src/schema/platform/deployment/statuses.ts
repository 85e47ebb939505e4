export const DEPLOYMENT_STATUSES = [
  'AWAITING_DATABASE',
  'READY',
  'UNUSED',
  'AWAITING_DELETE',
  'UNKNOWN',
] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];

/** The thirteen statuses of a revision. Those in `ENDED` never change again, and an interrupt cannot reach them. */
export const REVISION_STATUSES = [
  'CREATING',
  'QUEUED',
  'AWAITING_BUILD',
  'BUILDING',
  'AWAITING_DEPLOY',
  'DEPLOYING',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'DEPLOYED',
  'SKIPPED',
  'INTERRUPTED',
  'UNKNOWN',
] as const;
export type RevisionStatus = (typeof REVISION_STATUSES)[number];

export const ENDED: readonly RevisionStatus[] = [
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'DEPLOYED',
  'SKIPPED',
  'INTERRUPTED',
];

/** Why a revision or deployment is not as requested: a stable word for machines. */
export const FAILURE_REASONS = [
  'ImagePullFailed',
  'CrashLooping',
  'OOMKilled',
  'ProbeFailed',
  'Unschedulable',
  'QuotaExceeded',
  'DatabaseNotReady',
  'MigrationFailed',
  'SecretMissing',
  'BuildFailed',
  'BuilderMissing',
  'CloneFailed',
  'RefMissing',
  'ConfigMissing',
  'InstallFailed',
  'PushFailed',
  'OutOfMemory',
  'DiskFull',
  'UserNamespacesOff',
  'DeadlineExceeded',
  'SpecChanged',
  'Refused',
  'Interrupted',
  'RolloutAborted',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];
