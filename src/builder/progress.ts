import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { toError, StageFailed } from '../errors.ts';
import type { BuildStage, StageFailure, StageReason } from '../schema/wire/build-message.ts';
import { formatTerminationMessage } from '../schema/wire/termination-message.ts';

/** Prints one plain line: logs of builds are read by people. */
export const logLine = (line: string): void => void process.stdout.write(`${line}\n`);

/** Does one step, and prints its name with the seconds that it took. */
export async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const result = await work();
  logLine(`${name}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return result;
}

/** The reason of a stage that fails without a reason of its own. */
const BY_STAGE: Record<BuildStage, StageReason> = {
  clone: 'CloneFailed',
  restore: 'BuildFailed',
  build: 'BuildFailed',
  push: 'PushFailed',
};

/** The words of the system and of programs for a disk without room. */
const NO_ROOM = /ENOSPC|no space left on device|disk quota exceeded|os error 28\b/i;

/** Returns the failure of a stage, for the reader of the revision. */
export function stageFailureOf(stage: BuildStage, thrown: unknown): StageFailure {
  const error = toError(thrown);
  if (NO_ROOM.test(error.message)) return { reason: 'DiskFull', message: error.message };
  const reason = error instanceof StageFailed ? (error.reason as StageReason) : BY_STAGE[stage];
  return { reason, message: error.message };
}

/** Writes the termination message. Outside a pod there is no file for it, and the line is printed alone. */
export function writeTerminationMessage(file: string, message: object): void {
  const text = formatTerminationMessage(message);
  try {
    writeFileSync(file, text);
  } catch {
    logLine(text);
  }
}
