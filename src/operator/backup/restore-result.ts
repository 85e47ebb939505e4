import type { KubeObject } from '../../kube/kube.ts';
import {
  RESTORE_FAILURES,
  VERIFY_FAILURES,
  type RestoreDone,
  type RestoreFailure,
  type VerifyDone,
  type VerifyFailure,
} from '../../schema/wire/restore-message.ts';
import { isPodOver, isUnconfigured, missingClaim, statusOfPod } from '../pods/diagnose.ts';
import { RESTORER, SENDER } from './pod.ts';
import { terminationFields, waitingWords } from './result.ts';

/** Milliseconds for which the other container may look on after the one that restores was killed. */
const LOOKS_ON = 60_000;

type Fields = Partial<RestoreDone & VerifyDone & { reason: string; message: string }>;
/** Reads a termination message: its result, or its failure. Undefined if it is neither. */
type Read<R> = (fields: Fields, exitCode: number | undefined) => R | undefined;

/** Returns how a restore ended, by its pod. Undefined while it is under way. */
export const restoreResult = (pod: KubeObject, now: Date): RestoreDone | RestoreFailure | undefined => resultOf(pod, now, readRestore);

/** Returns how a verification ended, by its pod. Undefined while it is under way. */
export const verifyResult = (pod: KubeObject, now: Date): VerifyDone | VerifyFailure | undefined => resultOf(pod, now, readVerification);

const readRestore: Read<RestoreDone | RestoreFailure> = ({ reason, message = '', backup, from, copy }, exitCode) => {
  const known = RESTORE_FAILURES.find((each) => each === reason);
  if (known !== undefined) return { reason: known, message };
  if (exitCode !== 0 || backup === undefined || from === undefined) return undefined;
  return { backup, from, ...(copy !== undefined && { copy }) };
};

const readVerification: Read<VerifyDone | VerifyFailure> = ({ reason, message = '', verified }, exitCode) => {
  const known = VERIFY_FAILURES.find((each) => each === reason);
  if (known !== undefined) return { reason: known, message };
  return exitCode === 0 && verified !== undefined ? { verified } : undefined;
};

type Ended = { exitCode?: number; reason?: string; finishedAt?: string | null };
type Failed = { reason: 'RestoreFailed' | 'TargetMissing'; message: string };

function resultOf<R>(pod: KubeObject, now: Date, read: Read<R>): R | Failed | undefined {
  if (isUnconfigured(pod)) return { reason: 'TargetMissing', message: waitingWords(pod) ?? 'A Secret of the restore is not there.' };
  const claim = missingClaim(pod);
  if (claim !== undefined) return { reason: 'TargetMissing', message: `${claim}.` };
  const { containerStatuses = [], phase, reason, message = '' } = statusOfPod(pod);
  const endOf = (container: string) => containerStatuses.find(({ name }) => name === container)?.state?.terminated;
  const ended = endOf(SENDER);
  if (ended !== undefined)
    return (
      read(terminationFields<Fields>(ended.message), ended.exitCode) ??
      failed(`The program that restores ended with ${ended.exitCode} (${ended.reason ?? 'no reason'}) and left no message.`)
    );
  if (isPodOver(pod)) return failed(`The pod of the restore ended as ${phase} (${[reason, message].filter(Boolean).join(': ')}).`);
  return killedRestorer(endOf(RESTORER), now);
}

/** Returns the failure of a container that was killed, so that the other waits for it. */
function killedRestorer(killed: Ended | undefined, now: Date): Failed | undefined {
  const since = now.getTime() - Date.parse(killed?.finishedAt ?? now.toISOString());
  if (killed === undefined || killed.exitCode === 0 || since < LOOKS_ON) return undefined;
  return failed(`The container that restores ended with ${killed.exitCode} (${killed.reason ?? 'no reason'}).`);
}

const failed = (message: string): Failed => ({ reason: 'RestoreFailed', message });

/** The last words of gx-postgres where it could not fill a volume with a copy. */
const UNFILLED = /^gx-postgres: the (?:copy|log) could not .*$/m;

/** Returns why a database could not fill its volume. It tries again by itself. */
export function fillFailure(databasePods: readonly KubeObject[]): string | undefined {
  const ended = databasePods
    .flatMap((pod) => statusOfPod(pod).containerStatuses ?? [])
    .map(({ state, lastState }) => (state?.terminated ?? lastState?.terminated)?.message ?? '');
  const words = ended.find((message) => UNFILLED.test(message));
  return words === undefined ? undefined : words.trim().slice(-1500);
}

/** Returns when the pod of a restore ended. Undefined while it runs. */
export function restoreEndedAt(pod: KubeObject): Date | undefined {
  const times = (statusOfPod(pod).containerStatuses ?? []).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''));
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length === 0 ? undefined : new Date(Math.max(...known));
}
