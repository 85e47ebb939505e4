import { waitForAnswer, readErrorOutput, openDump, readAnswer } from './pipe.ts';
import { BackupFailed } from './s3/failure.ts';

/* The dump, as the container with pg_dump makes it. `facts` has lines about the database. */

export type DumpFacts = {
  postgres: string;
  migration: number;
  schema: number;
  keys: string[];
  counts: Record<string, string>;
  from: string;
};

/** Milliseconds for which the exit status may come after the end of the pipe. */
const END_WITHIN = 30_000;

/** Reads the dump as it is made. */
export async function* readDump(folder: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  await waitForAnswer(folder, ['dump'], signal);
  const pipe = await openDump(folder, 'read');
  try {
    for await (const piece of pipe.createReadStream({ highWaterMark: 262_144, signal }))
      yield piece as Buffer;
  } finally {
    await pipe.close().catch(() => undefined);
  }
}

/** Returns when pg_dump has succeeded. Throws with its own words if it failed or was killed. */
export async function requireWhole(
  folder: string,
  signal: AbortSignal,
  within = END_WITHIN,
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(within)]);
  const ended = await waitForAnswer(folder, ['end'], limit).then(
    () => true,
    () => false,
  );
  signal.throwIfAborted();
  const status = ended ? (await readAnswer(folder, 'end')).trim() : undefined;
  if (status === '0') return;
  const words = await readErrorOutput(folder);
  const how =
    status === undefined
      ? 'pg_dump was ended before it had finished'
      : `pg_dump failed with status ${status}`;
  throw new BackupFailed('DumpFailed', `${how}${words === '' ? '.' : `: ${words}`}`);
}

/** Reads the facts about the database, which are written before the dump, one a line. */
export async function readDumpFacts(folder: string): Promise<DumpFacts> {
  const [facts, counts] = await Promise.all(
    ['facts', 'counts'].map((name) => readAnswer(folder, name)),
  );
  return { ...parseDatabaseFacts(facts ?? ''), counts: parseTableCounts(counts ?? '') };
}

/** Returns the facts about a database by its answers, one a line. */
export function parseDatabaseFacts(text: string): Omit<DumpFacts, 'counts'> {
  const [postgres = '', migration = '', schema = '', keys = '', from = ''] = text
    .trim()
    .split('\n');
  if (Number.isNaN(Date.parse(from)))
    throw new BackupFailed('DumpFailed', 'The database did not report its version and its time.');
  const moment = new Date(from).toISOString();
  return {
    postgres,
    migration: Number(migration),
    schema: Number(schema),
    keys: keys.split(' ').filter(Boolean),
    from: moment,
  };
}

/** Returns the rows of each table and the checksum of their keys, by lines as `gx.thread 2 -12345`. */
export const parseTableCounts = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.includes(' '))
      .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1).trim()]),
  );
