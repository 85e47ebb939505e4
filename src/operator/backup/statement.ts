import type { OperatorSettings } from '../../config/operator.ts';
import { BACKED_UP } from '../../schema/platform/conditions.ts';
import type { BackupResource } from '../../schema/platform/custom-resources.ts';
import type { BackupFailureReason } from '../../schema/wire/backup-message.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import type { BackupPlan } from './plan.ts';
import { hindranceOf } from './result.ts';
import type { VerifyPlan } from './verify-plan.ts';

const HOUR = 3_600_000;

/** The advice on a backup that failed. */
const ADVICE: Record<BackupFailureReason, string> = {
  TargetMissing: "Create the bucket, or the Secret or the volume claim of the target in the deployment's namespace.",
  TargetUnreachable: 'Check that the store runs and that pods of the namespace reach it; its certificate must be known.',
  TargetRefused: "Check the credential in the target's Secret and its permissions; clocks must agree within 15 minutes.",
  NoRoom: 'Make room at the target, or keep fewer backups.',
  TargetNotEmpty: 'Give the target another prefix, or remove that folder if nobody needs it.',
  DumpFailed: 'The message has the words of pg_dump. It is tried again.',
  CopyFailed: 'The message has the words of pgBackRest. It is tried again.',
};

type Seen = { settings: OperatorSettings; now: Date; hibernates: boolean; verification?: VerifyPlan | undefined };

/** Reports whether the backups of a deployment are as new as it asks for, and why not. */
export function backupStatement(plan: BackupPlan, seen: Seen): StatedCondition {
  const { fault, last, ended, running } = plan;
  if (fault !== undefined) return failed(fault.reason, fault.message);
  const hindrance = running && hindranceOf(running);
  if (running !== undefined && hindrance !== undefined)
    return failed(hindrance.reason, `Backup ${running.metadata.name} waits for its pod. ${hindrance.message}${sinceOf(plan)}`);
  if (ended !== undefined && ended !== last) return afterFailure(plan, ended);
  if (isOverdue(plan, seen))
    return failed('Overdue', `A backup has been due since ${plan.dueAt?.toISOString()}. ${whyNot(plan, seen)}${sinceOf(plan)}`);
  if (seen.verification?.failed !== undefined) return notVerified(seen.verification.failed);
  if (last !== undefined) return good(plan, last, seen.verification);
  const next = running === undefined ? nextOf(plan) : ' The first is being made.';
  return { type: BACKED_UP, status: 'Unknown', reason: 'NoBackupYet', message: `There is no backup yet.${next}` };
}

function good(plan: BackupPlan, last: BackupResource, verification: VerifyPlan | undefined): StatedCondition {
  const waits = verification?.running?.status?.verifyWaits;
  const verified = waits === undefined ? verifiedWords(verification) : ` Its verification waits for its pod. ${waits}`;
  const reason = waits === undefined ? 'BackedUp' : 'VerificationWaits';
  return { type: BACKED_UP, status: 'True', reason, message: `${goodWords(plan, last)}${verified}` };
}

const verifiedWords = (verification: VerifyPlan | undefined): string => {
  if (verification === undefined) return '';
  return verification.verifiedAt === undefined ? ' No backup was verified yet.' : ` One was last verified at ${verification.verifiedAt}.`;
};

const notVerified = ({ metadata, status = {} }: BackupResource): StatedCondition =>
  failed(
    'VerificationFailed',
    `The verification of backup ${metadata.name} failed. ${status.verifyMessage ?? ''} It is repeated after a day. Ask for another backup if this one can't be restored.`,
  );

function goodWords(plan: BackupPlan, { metadata, status = {} }: BackupResource): string {
  const left = status.message === undefined ? '' : ` ${status.message}`;
  const has =
    plan.archivedFrom === undefined
      ? `has the data of ${status.from} (${status.size}).`
      : `is the newest copy (${status.size}). Every second since ${plan.archivedFrom} can be restored.`;
  return `Backup ${metadata.name} ${has}${nextOf(plan)}${left}`;
}

/** Returns why a backup failed, and the advice on it. */
export function adviceOn({ metadata, status = {} }: Pick<BackupResource, 'metadata' | 'status'>): string {
  const { reason = 'DumpFailed', message = '' } = status;
  const advice = ADVICE[reason as BackupFailureReason] ?? '';
  return `Backup ${metadata.name} failed. ${message} ${advice}`.trim();
}

function afterFailure(plan: BackupPlan, { metadata, status = {} }: BackupResource): StatedCondition {
  return failed(status.reason ?? 'DumpFailed', `${adviceOn({ metadata, status })}${sinceOf(plan)}`);
}

const failed = (reason: string, message: string): StatedCondition => ({
  type: BACKED_UP,
  status: 'False',
  reason,
  message,
  event: 'Warning',
});

const sinceOf = ({ last }: BackupPlan): string =>
  last === undefined ? ' There is no backup.' : ` The last good backup has the data of ${last.status?.from}.`;

function nextOf({ dueAt, spec }: BackupPlan): string {
  if (dueAt !== undefined) return ` The next is due at ${dueAt.toISOString()}.`;
  return spec.schedule === undefined ? ' One is made on request.' : '';
}

/** Returns true if one is due for longer than a backup may take. */
const isOverdue = ({ dueAt, last }: BackupPlan, { settings, now }: Seen): boolean =>
  dueAt !== undefined && last !== undefined && now.getTime() - dueAt.getTime() > HOUR + settings.backups.deadlineMinutes * 60_000;

const whyNot = ({ running }: BackupPlan, { hibernates }: Seen): string => {
  if (hibernates) return 'The deployment hibernates, and its database with it.';
  return running === undefined ? 'It waits for the database, or for its turn.' : `${running.metadata.name} is being made.`;
};
