import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { asError, cutAt } from '../errors.ts';
import { LONGEST_TERMINATION_MESSAGE } from '../schema/wire/build-message.ts';
import { BackupFailed } from './s3/failure.ts';

/** Writes the termination message, and prints it. Outside a pod there is no file for it. */
export function reportEnd(file: string, message: object): void {
  const bounded = 'message' in message ? { ...message, message: cutAt(String(message.message), LONGEST_TERMINATION_MESSAGE / 4) } : message;
  const text = JSON.stringify(bounded);
  process.stdout.write(`${text}\n`);
  try {
    writeFileSync(file, text);
  } catch {
    process.stdout.write(`${file} can't be written.\n`);
  }
}

/** Returns the reason and the words of a failure. `otherwise` is the reason of one that nobody has named. */
export function failureIn(
  thrown: unknown,
  signal: AbortSignal,
  otherwise: { reason: string; what: string },
): { reason: string; message: string } {
  if (thrown instanceof BackupFailed) return { reason: thrown.reason, message: thrown.message };
  const { reason, what } = otherwise;
  return { reason, message: signal.aborted ? `${what} was stopped before its end.` : `${what} failed: ${asError(thrown).message}` };
}
