import type { KubeObject } from '../../kube/kube.ts';
import {
  RESTORE_FAILURES,
  VERIFY_FAILURES,
  type RestoreDone,
  type RestoreFailure,
  type VerifyDone,
  type VerifyFailure,
} from '../../schema/wire/restore-message.ts';
import { getPodStatus } from '../pods/diagnose.ts';
import { findEnd, type JobState } from '../pods/job-state.ts';
import { COPIER, RESTORER, SENDER } from './pod.ts';
import { parseTerminationFields } from './result.ts';

/** The containers of a restore and of a verification: the one that speaks to the store decides. */
export const RESTORE_CONTAINERS = {
  decides: SENDER,
  others: [RESTORER, COPIER],
  unseen: [RESTORER],
};

type Fields = Partial<RestoreDone & VerifyDone & { reason: string; message: string }>;
/** Reads a termination message: its result, or its failure. Undefined if it is neither. */
type Read<R> = (fields: Fields, exitCode: number | undefined) => R | undefined;

/** Returns how a restore ended, by its Job. Undefined while it is under way. */
export const restoreResult = (state: JobState): RestoreDone | RestoreFailure | undefined =>
  readResult(state, readRestore);

/** Returns how a verification ended, by its Job. Undefined while it is under way. */
export const verifyResult = (state: JobState): VerifyDone | VerifyFailure | undefined =>
  readResult(state, readVerification);

const readRestore: Read<RestoreDone | RestoreFailure> = (
  { reason, message = '', backup, from, copy },
  exitCode,
) => {
  const known = RESTORE_FAILURES.find((each) => each === reason);
  if (known !== undefined) return { reason: known, message };
  if (exitCode !== 0 || backup === undefined || from === undefined) return undefined;
  return { backup, from, ...(copy !== undefined && { copy }) };
};

const readVerification: Read<VerifyDone | VerifyFailure> = (
  { reason, message = '', verified },
  exitCode,
) => {
  const known = VERIFY_FAILURES.find((each) => each === reason);
  if (known !== undefined) return { reason: known, message };
  return exitCode === 0 && verified !== undefined ? { verified } : undefined;
};

function readResult<R>(
  state: JobState,
  read: Read<R>,
): R | { reason: 'RestoreFailed' | 'TargetMissing'; message: string } | undefined {
  if (state.is === 'incomplete') return { reason: 'TargetMissing', message: state.message };
  if (state.is === 'lost') return { reason: 'RestoreFailed', message: state.message };
  if (state.is !== 'ended') return undefined;
  const { exitCode, reason = 'no reason', message } = state.end;
  const silent = `The program that restores ended with ${exitCode} (${reason}) and left no message.`;
  return (
    read(parseTerminationFields<Fields>(message), exitCode) ?? {
      reason: 'RestoreFailed',
      message: silent,
    }
  );
}

/** The last words of gx-postgres where it could not fill a volume with a copy. */
const UNFILLED = /^gx-postgres: the (?:copy|log) could not .*$/m;

/** Returns why a database could not fill its volume. It tries again by itself. */
export function findFillFailure(databasePods: readonly KubeObject[]): string | undefined {
  const ended = databasePods
    .flatMap((pod) => getPodStatus(pod).containerStatuses ?? [])
    .map(({ state, lastState }) => (state?.terminated ?? lastState?.terminated)?.message ?? '');
  const words = ended.find((message) => UNFILLED.test(message));
  return words === undefined ? undefined : words.trim().slice(-1500);
}

/** Returns when a restore ended. Undefined while it runs. */
export function restoreEndedAt(pod: KubeObject): Date | undefined {
  const times = [SENDER, RESTORER, COPIER].map((name) =>
    Date.parse(findEnd(pod, name)?.finishedAt ?? ''),
  );
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length === 0 ? undefined : new Date(Math.max(...known));
}
