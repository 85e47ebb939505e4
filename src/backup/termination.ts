import { writeFileSync } from 'node:fs';
import process from 'node:process';
import type { StoreJobConfig } from '../config/jobs/backup-job.ts';
import { toError } from '../errors.ts';
import { formatTerminationMessage } from '../schema/wire/termination-message.ts';
import { giveUp } from './pipe.ts';
import { BackupFailed } from './s3/failure.ts';

/** `reason` and `what` describe a failure that nobody has named. */
type Work = { reason: string; what: string; signal: AbortSignal; work: () => Promise<object> };

/** Does the work of a Job and reports how it ended. After a failure the other containers stop, too. */
export async function runAndReport(
  config: Pick<StoreJobConfig, 'pipe' | 'copier' | 'terminationLog' | 'keys'> & {
    encryptionKeys?: readonly string[];
  },
  { signal, work, ...otherwise }: Work,
): Promise<void> {
  const secrets = [
    config.keys.accessKeyId,
    config.keys.secretAccessKey,
    ...(config.encryptionKeys ?? []),
  ];
  try {
    reportEnd(config.terminationLog, await work(), secrets);
  } catch (thrown) {
    for (const folder of [config.pipe, config.copier]) await giveUp(folder).catch(() => undefined);
    reportEnd(config.terminationLog, describeFailure(thrown, signal, otherwise), secrets);
    process.exitCode = 1;
  }
}

/**
 * Writes the termination message, and prints it. Outside a pod there is no file for it. Everybody who may see the
 * deployment reads it, and words of other programs are in it, so that it never holds a secret of this process.
 */
function reportEnd(file: string, message: object, secrets: readonly string[]): void {
  const words = Object.entries(message).map(([name, value]): [string, unknown] => [
    name,
    typeof value === 'string' ? redactSecrets(value, secrets) : value,
  ]);
  const text = formatTerminationMessage(Object.fromEntries(words));
  process.stdout.write(`${text}\n`);
  try {
    writeFileSync(file, text);
  } catch {
    process.stdout.write(`${file} can't be written.\n`);
  }
}

/** Returns a text without secrets, in the forms in which a program may print them. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  const forms = secrets
    .filter((secret) => secret !== '')
    .flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString('base64'),
      Buffer.from(secret).toString('hex'),
    ])
    // The longest first: one may be a part of another.
    .toSorted((a, b) => b.length - a.length);
  return forms.reduce((clean, form) => clean.replaceAll(form, '(removed)'), text);
}

function describeFailure(
  thrown: unknown,
  signal: AbortSignal,
  otherwise: { reason: string; what: string },
): { reason: string; message: string } {
  if (thrown instanceof BackupFailed) return { reason: thrown.reason, message: thrown.message };
  const { reason, what } = otherwise;
  return {
    reason,
    message: signal.aborted
      ? `${what} was stopped before its end.`
      : `${what} failed: ${toError(thrown).message}`,
  };
}
