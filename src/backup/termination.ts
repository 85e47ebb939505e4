import { writeFileSync } from 'node:fs';
import process from 'node:process';
import type { StoreJobConfig } from '../config/backup-job.ts';
import { asError, cutAt } from '../errors.ts';
import { LONGEST_TERMINATION_MESSAGE } from '../schema/wire/build-message.ts';
import { giveUp } from './pipe.ts';
import { BackupFailed } from './s3/failure.ts';

type Reported = Pick<StoreJobConfig, 'pipe' | 'terminationLog'>;
/** `reason` and `what` describe a failure that nobody has named. */
type Work = { reason: string; what: string; signal: AbortSignal; work: () => Promise<object> };

/** Does the work of a Job and reports how it ended. After a failure the other container stops, too. */
export async function reported({ pipe, terminationLog }: Reported, { signal, work, ...otherwise }: Work): Promise<void> {
  try {
    reportEnd(terminationLog, await work());
  } catch (thrown) {
    await giveUp(pipe).catch(() => undefined);
    reportEnd(terminationLog, failureIn(thrown, signal, otherwise));
    process.exitCode = 1;
  }
}

/** Writes the termination message, and prints it. Outside a pod there is no file for it. */
function reportEnd(file: string, message: object): void {
  const bounded = 'message' in message ? { ...message, message: cutAt(String(message.message), LONGEST_TERMINATION_MESSAGE / 4) } : message;
  const text = JSON.stringify(bounded);
  process.stdout.write(`${text}\n`);
  try {
    writeFileSync(file, text);
  } catch {
    process.stdout.write(`${file} can't be written.\n`);
  }
}

/** Returns the reason and the words of a failure. */
function failureIn(thrown: unknown, signal: AbortSignal, otherwise: { reason: string; what: string }): { reason: string; message: string } {
  if (thrown instanceof BackupFailed) return { reason: thrown.reason, message: thrown.message };
  const { reason, what } = otherwise;
  return { reason, message: signal.aborted ? `${what} was stopped before its end.` : `${what} failed: ${asError(thrown).message}` };
}
