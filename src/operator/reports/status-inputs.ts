import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type { DeploymentStatusFields } from './part-report.ts';

/**
 * Fields of a deployment's status that its reconcile reads again. A backup restores no status, so each says where else
 * it is found.
 */
export const STATUS_INPUTS = {
  phase: 'It only tells waking from a first start.',
  activeRevision: 'The Service selects its pods.',
  rollout:
    'Nowhere. Replaced revisions keep nothing any more, and the one that serves takes their work.',
  databaseSecret:
    'Credentials are listed by their labels, and an external one is named by the spec.',
  databaseSecretVersion: 'The Secret is read.',
  databaseTemplate: 'The set has the hash of its own template.',
  databaseCertificateUntil: 'The certificate is read.',
  archivedSince: 'The Secret is written once more, and a copy is made.',
  chosenBackup: 'A Job looks at the catalogue again. A database that has begun keeps its volume.',
  restoredBackup: 'The database says itself that it was restored, and a Job reports it again.',
  restoredFrom: 'As before.',
  restoredAt:
    'It gives a rollout its deadline. Without archivedSince, which is lost with it, a copy is made.',
  databaseVolume: 'The set names it; without one the claims do.',
  replacement:
    'The set names the volume of the last request, and the database says itself that it was restored.',
  replacedAt: 'As before. A request that failed is asked again within a day.',
  formerVolumes: 'Their claims have a note until when they stay.',
  passwordRequestedAt: 'The Secret of the password has the request that it was made for.',
  claimWords: 'The volume claim is read.',
  storeTemplate: 'The set has the hash of its own template.',
  storeSecret: 'It has a fixed name, and creating it again changes nothing.',
  keySecret: 'It has a fixed name, and is read.',
  keyHashes: 'The Secret of the key is read.',
  keyRequest: 'The Secret of the key has the request that it was made for.',
  keyPreviousUntil: 'The Secret of the key has it.',
  followedRef:
    'A look at the branch finds its head, which asks for nothing if the newest revision is of it.',
  followedCommit: 'As before.',
  pushHandled:
    'The last event is looked after once more. Its commit asks for nothing if a revision is of it.',
  asleepSince: 'It is awake, and falls asleep after its time of rest.',
  nextDueAt: 'The agents report it.',
  interruptedThreads: 'The agents count them again.',
  usageToday: 'The agents report it.',
  usageYesterday: 'The agents report it.',
  usageEarlier: 'Nowhere. Budgets of the tenant begin again with the day before.',
  lastHandledReconcileAt: 'It is reconciled once more.',
} as const satisfies Partial<Record<keyof DeploymentStatusFields, string>>;

export type StatusInput = keyof typeof STATUS_INPUTS;

/** The same of a revision, whose status is also the only record of its past. */
export const REVISION_INPUTS = {
  phase: 'Its pods or its build show it. One that no longer serves is skipped.',
  reason: 'It is decided again.',
  message: 'It is decided again.',
  specHash: 'The spec has a hash of its template.',
  secretName: 'The copy of the Secret has a fixed name.',
  startedAt: 'It begins again, with its whole deadline.',
  endedAt: 'It ends again.',
  image: 'Nowhere. It is built again.',
  builtAt: 'As the image.',
  commitSha: 'A spec names the commit of a push. Else the build finds the head of the branch.',
  buildsWith: 'The build in stages finds once more that it needs BuildKit.',
  builderVersion: 'The build reports it.',
  imageArchitecture: 'The build reports it. Without it pods go to all nodes.',
  buildSeconds: 'The build reports it.',
  buildLog: 'The ConfigMap has a fixed name.',
  logTail: 'Nowhere.',
  imageDigest: 'The pods report it.',
  serverVersion: 'The agents report it.',
  mountPrefix: 'The agents report it.',
  guard: 'The agents report it. Until then nobody may wake it.',
  pin: 'Nowhere. The revision keeps nothing once it is replaced.',
  apiTemplate: 'The workload has the hash of its own template.',
  queueTemplate: 'The workload has the hash of its own template.',
} as const satisfies Partial<Record<keyof NonNullable<RevisionResource['status']>, string>>;

/** Returns these fields of a status as they are. */
export const pickStatusFields = (
  { status = {} }: DeploymentResource,
  fields: readonly StatusInput[] = [],
): DeploymentStatusFields =>
  Object.fromEntries(
    fields.flatMap((name) => (status[name] === undefined ? [] : [[name, status[name]]])),
  );
