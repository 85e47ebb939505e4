import type { DeploymentResource } from '../../schema/custom-resources.ts';
import type { DeploymentStatusFields } from './part-report.ts';

/**
 * Fields of a deployment's status that its reconcile reads again. A backup restores no status, so each says where else
 * it is found.
 */
export const STATUS_INPUTS = {
  phase: 'It only tells waking from a first start.',
  activeRevision: 'The Service selects its pods.',
  databaseSecret: 'Credentials are listed by their labels, and an external one is named by the spec.',
  databaseSecretVersion: 'The Secret is read.',
  databaseTemplate: 'The set has the hash of its own template.',
  databaseCertificateUntil: 'The certificate is read.',
  passwordRequestedAt: 'The Secret of the password has the request that it was made for.',
  claimWords: 'The volume claim is read.',
  storeSecret: 'It has a fixed name, and creating it again changes nothing.',
  keySecret: 'It has a fixed name, and is read.',
  keyHashes: 'The Secret of the key is read.',
  keyRequest: 'The Secret of the key has the request that it was made for.',
  keyPreviousUntil: 'The Secret of the key has it.',
  followedRef: 'A look at the branch finds its head, which asks for nothing if the newest revision is of it.',
  followedCommit: 'As before.',
  pushHandled: 'The last event is looked after once more. Its commit asks for nothing if a revision is of it.',
  asleepSince: 'It is awake, and falls asleep after its time of rest.',
  nextDueAt: 'The agents report it.',
  lastHandledReconcileAt: 'It is reconciled once more.',
} as const satisfies Partial<Record<keyof DeploymentStatusFields, string>>;

export type StatusInput = keyof typeof STATUS_INPUTS;

/** Returns these fields of a status as they are. */
export const keptStatus = ({ status = {} }: DeploymentResource, fields: readonly StatusInput[] = []): DeploymentStatusFields =>
  Object.fromEntries(fields.flatMap((name) => (status[name] === undefined ? [] : [[name, status[name]]])));
