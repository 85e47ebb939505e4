import type { ImportConfig } from '../../config/thread-import.ts';
import { asError, EXIT, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { openDatabase } from '../db/base/pool.ts';
import { reachDatabase } from '../db/base/reach.ts';
import { checkKeys, isSealedByModule } from '../db/encryption/encryption-keys.ts';
import { hasThread } from '../db/imports/imported-threads.ts';
import { checkTables, countSaved, savedThreads } from '../db/imports/saver-tables.ts';
import { migrate } from '../db/migrate.ts';
import { codecOf } from '../encryption/codec-of.ts';
import { importedId, importThread, previewThread, type Imported, type Sides } from './one-thread.ts';

/** `out` prints a line. */
export type ImportOptions = { config: ImportConfig; out: (line: string) => void; log: Log; signal: AbortSignal };

/**
 * Imports threads from the tables of LangGraph's own saver, each in a transaction of its own. Throws a `StartError`
 * with one sentence for whatever prevents it, or after the end where threads were refused.
 */
export async function importThreads(options: ImportOptions): Promise<void> {
  const { config, log } = options;
  const common = { statementTimeoutSeconds: config.database.statementTimeoutSeconds, name: 'gx-import-threads', poolSize: 2 };
  const source = openDatabase({ ...common, uri: config.from }, log);
  const target = openDatabase({ ...common, uri: config.database.uri, codec: codecOf(config.encryption, undefined) }, log);
  try {
    await prepare({ source, target }, options);
    await importAll({ source, target }, options).catch(readingFailed);
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}

async function prepare({ source, target }: Sides, { config, log, signal }: ImportOptions): Promise<void> {
  await reachDatabase(source, config.from, { seconds: 0, log, signal });
  await checkTables(source).catch(readingFailed);
  await reachDatabase(target, config.database.uri, { seconds: config.database.waitSeconds, log, signal });
  if (config.dryRun) return;
  await migrate(target);
  if (await isSealedByModule(target))
    throw new StartError(
      'The database of DATABASE_URI is encrypted by encryption.path, which import-threads does not run; it is not supported.',
    );
  await checkKeys(target, { keys: config.encryption, module: undefined }, log);
}

const reasonOf = (thrown: unknown): string => asError(thrown).message.replace(/\.$/, '');

/** Passes a sentence on, and makes one of Postgres' own error, such as a missing permission. */
function readingFailed(thrown: unknown): never {
  if (thrown instanceof StartError) throw thrown;
  const sentence = `The saver's tables in the database of --from can't be read: ${reasonOf(thrown)}.`;
  throw new StartError(sentence, { cause: thrown, exitCode: EXIT.database });
}

/** Milliseconds between lines of progress. */
const PROGRESS = 5000;

type Counts = Record<Imported['is'], number> & { checkpoints: number };

async function importAll(sides: Sides, options: ImportOptions): Promise<void> {
  const { config, out, signal } = options;
  const counts: Counts = { imported: 0, there: 0, refused: 0, checkpoints: 0 };
  const all = config.threads?.length ?? (await countSaved(sides.source));
  let reportedAt = performance.now();
  for await (const id of config.threads ?? savedThreads(sides.source)) {
    const found = await one(sides, id, options).catch((error: unknown) => stopped(error, id, { counts, signal }));
    counts[found.is] += 1;
    if (found.is === 'refused') out(`Thread ${id} is left out: ${found.why}.`);
    else counts.checkpoints += found.checkpoints;
    if (performance.now() - reportedAt < PROGRESS) continue;
    reportedAt = performance.now();
    out(`${counts.imported + counts.there + counts.refused} of ${all} threads: ${summary(counts)}`);
  }
  out(`${config.dryRun ? 'An import would do this, and nothing was written' : 'Done'}: ${summary(counts)}`);
  if (counts.refused > 0) throw new StartError(`${counts.refused} of ${all} threads were left out; the lines above say why.`);
}

async function one(sides: Sides, id: string, { config, signal }: ImportOptions): Promise<Imported> {
  signal.throwIfAborted();
  if (!config.dryRun) return importThread(sides, id, config.graph, signal);
  if (await hasThread(sides.target, importedId(id))) return { is: 'there', checkpoints: 0 };
  return previewThread(sides.source, id, config.graph);
}

const summary = ({ imported, there, refused, checkpoints }: Counts): string =>
  `${imported} imported with ${checkpoints} checkpoints, ${there} already there, ${refused} left out.`;

/** Reports how far the import came. */
function stopped(thrown: unknown, id: string, { counts, signal }: { counts: Counts; signal: AbortSignal }): never {
  const so = `Before: ${summary(counts)} Start it again to go on.`;
  if (signal.aborted) throw new StartError(`The import was asked to stop, at thread ${id}. ${so}`, { cause: thrown });
  const sentence = `The import stopped at thread ${id}: ${reasonOf(thrown)}. ${so}`;
  throw new StartError(sentence, { cause: thrown, exitCode: EXIT.database });
}
