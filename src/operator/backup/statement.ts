import type { OperatorSettings } from '../../config/platform/operator.ts';
import { BACKED_UP } from '../../schema/platform/objects/conditions.ts';
import type { BackupResource } from '../../schema/platform/resources/custom-resources.ts';
import type { BackupFailureReason } from '../../schema/wire/backup-message.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import type { BackupPlan } from './plan.ts';
import { getBackupHindrance } from './result.ts';
import type { VerifyPlan } from './verify-plan.ts';

const HOUR = 3_600_000;

const ADVICE: Record<BackupFailureReason, string> = {
  TargetMissing:
    "Create the bucket, or the Secret or the volume claim of the target in the deployment's namespace.",
  TargetUnreachable:
    'Check that the store runs and that pods of the namespace reach it; its certificate must be known.',
  TargetRefused:
    "Check the credential in the target's Secret and its permissions; clocks must agree within 15 minutes.",
  NoRoom: 'Make room at the target, or keep fewer backups.',
  TargetNotEmpty: 'Give the target another prefix, or remove that folder if nobody needs it.',
  DumpFailed: 'The message quotes pg_dump. It is retried.',
  CopyFailed: 'The message quotes pgBackRest. It is retried.',
};

type BackupState = {
  settings: OperatorSettings;
  now: Date;
  hibernates: boolean;
  verification?: VerifyPlan | undefined;
};

/** Reports whether the backups of a deployment are as new as it asks for, and why not. */
export function buildBackupStatement(plan: BackupPlan, seen: BackupState): StatedCondition {
  const { fault, last, ended, running } = plan;
  if (fault !== undefined) return buildFailedCondition(fault.reason, fault.message);
  const hindrance = running && getBackupHindrance(running);
  if (running !== undefined && hindrance !== undefined)
    return buildFailedCondition(
      hindrance.reason,
      `Backup ${running.metadata.name} waits for its pod. ${hindrance.message}${describeLastGood(plan)}`,
    );
  if (ended !== undefined && ended !== last) return buildFailureCondition(plan, ended);
  if (isOverdue(plan, seen))
    return buildFailedCondition(
      'Overdue',
      `A backup has been due since ${plan.dueAt?.toISOString()}. ${explainDelay(plan, seen)}${describeLastGood(plan)}`,
    );
  if (seen.verification?.failed !== undefined)
    return buildNotVerifiedCondition(seen.verification.failed);
  if (last !== undefined) return buildGoodCondition(plan, last, seen.verification);
  const next = running === undefined ? describeNext(plan) : ' The first is being made.';
  return {
    type: BACKED_UP,
    status: 'Unknown',
    reason: 'NoBackupYet',
    message: `There is no backup yet.${next}`,
  };
}

function buildGoodCondition(
  plan: BackupPlan,
  last: BackupResource,
  verification: VerifyPlan | undefined,
): StatedCondition {
  const waits = verification?.running?.status?.verifyWaits;
  const verified =
    waits === undefined
      ? describeVerified(verification)
      : ` Its verification waits for its pod. ${waits}`;
  const reason = waits === undefined ? 'BackedUp' : 'VerificationWaits';
  return {
    type: BACKED_UP,
    status: 'True',
    reason,
    message: `${describeGood(plan, last)}${verified}`,
  };
}

const describeVerified = (verification: VerifyPlan | undefined): string => {
  if (verification === undefined) return '';
  return verification.verifiedAt === undefined
    ? ' No backup was verified yet.'
    : ` One was last verified at ${verification.verifiedAt}.`;
};

const buildNotVerifiedCondition = ({ metadata, status = {} }: BackupResource): StatedCondition =>
  buildFailedCondition(
    'VerificationFailed',
    `The verification of backup ${metadata.name} failed. ${status.verifyMessage ?? ''} It is repeated after a day. Request another backup if this one can't be restored.`,
  );

function describeGood(plan: BackupPlan, { metadata, status = {} }: BackupResource): string {
  const left = status.message === undefined ? '' : ` ${status.message}`;
  const has =
    plan.archivedFrom === undefined
      ? `has the data of ${status.from} (${status.size}).`
      : `is the newest copy (${status.size}). Every second since ${plan.archivedFrom} can be restored.`;
  return `Backup ${metadata.name} ${has}${describeNext(plan)}${left}`;
}

/** Returns why a backup failed, and the advice on it. */
export function explainBackupFailure({
  metadata,
  status = {},
}: Pick<BackupResource, 'metadata' | 'status'>): string {
  const { reason = 'DumpFailed', message = '' } = status;
  const advice = ADVICE[reason as BackupFailureReason] ?? '';
  return `Backup ${metadata.name} failed. ${message} ${advice}`.trim();
}

function buildFailureCondition(
  plan: BackupPlan,
  { metadata, status = {} }: BackupResource,
): StatedCondition {
  return buildFailedCondition(
    status.reason ?? 'DumpFailed',
    `${explainBackupFailure({ metadata, status })}${describeLastGood(plan)}`,
  );
}

const buildFailedCondition = (reason: string, message: string): StatedCondition => ({
  type: BACKED_UP,
  status: 'False',
  reason,
  message,
  event: 'Warning',
});

const describeLastGood = ({ last }: BackupPlan): string =>
  last === undefined
    ? ' There is no backup.'
    : ` The last good backup has the data of ${last.status?.from}.`;

function describeNext({ dueAt, spec }: BackupPlan): string {
  if (dueAt !== undefined) return ` The next is due at ${dueAt.toISOString()}.`;
  return spec.schedule === undefined ? ' One is made on request.' : '';
}

/** Returns true if one is due for longer than a backup may take. */
const isOverdue = ({ dueAt, last }: BackupPlan, { settings, now }: BackupState): boolean =>
  dueAt !== undefined &&
  last !== undefined &&
  now.getTime() - dueAt.getTime() > HOUR + settings.backups.deadlineMinutes * 60_000;

const explainDelay = ({ running }: BackupPlan, { hibernates }: BackupState): string => {
  if (hibernates) return 'The deployment hibernates, and its database with it.';
  return running === undefined
    ? 'It waits for the database, or for its turn.'
    : `${running.metadata.name} is being made.`;
};
