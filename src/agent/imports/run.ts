import type { ImportConfig } from '../../config/agent/thread-import.ts';
import { toError, EXIT, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { openDatabase, type Database, type Db } from '../db/base/pool.ts';
import { waitForDatabase } from '../db/base/reach.ts';
import { checkKeys, isSealedByModule } from '../db/encryption/encryption-keys.ts';
import { hasThread, insertImported } from '../db/imports/imported-threads.ts';
import {
  checkTables,
  countSaved,
  loadSavedThreadIds,
  loadCheckpointPlaces,
  loadSavedCheckpoints,
  loadSavedThread,
  loadValuePlaces,
  loadSavedValues,
  writePlaces,
  loadSavedWrites,
  type SavedValue,
} from '../db/imports/saver-tables.ts';
import { applyMigrations } from '../db/migrate.ts';
import { buildCodec } from '../encryption/codec-of.ts';
import { writeSteps, type Step } from '../db/checkpoints/checkpoints.ts';
import { isUuid, buildNamedId } from '../kernel/ids.ts';
import {
  checkImportable,
  splitIntoGroups,
  buildImportedThread,
  toStoredCheckpoint,
  toStoredWrites,
  ValuePlan,
  type PlannedCheckpoint,
} from './stored-form.ts';

/** `out` prints a line. */
export type ImportOptions = {
  config: ImportConfig;
  out: (line: string) => void;
  log: Log;
  signal: AbortSignal;
};

/**
 * Imports threads from the tables of LangGraph's own saver, each in a transaction of its own. Throws a `StartError`
 * with one sentence for whatever prevents it, or after the end where threads were refused.
 */
export async function importThreads(options: ImportOptions): Promise<void> {
  const { config, log } = options;
  const common = {
    statementTimeoutSeconds: config.database.statementTimeoutSeconds,
    name: 'gx-import-threads',
    poolSize: 2,
  };
  const source = openDatabase({ ...common, uri: config.from }, log);
  const target = openDatabase(
    { ...common, uri: config.database.uri, codec: buildCodec(config.encryption, undefined) },
    log,
  );
  try {
    await prepare({ source, target }, options);
    await importAll({ source, target }, options).catch(throwReadFailure);
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}

async function prepare(
  { source, target }: Sides,
  { config, log, signal }: ImportOptions,
): Promise<void> {
  await waitForDatabase(source, config.from, 0, log, signal);
  await checkTables(source).catch(throwReadFailure);
  await waitForDatabase(target, config.database.uri, config.database.waitSeconds, log, signal);
  if (config.dryRun) return;
  await applyMigrations(target);
  if (await isSealedByModule(target))
    throw new StartError(
      'The database of DATABASE_URI is encrypted by encryption.path, which import-threads does not run; it is not supported.',
    );
  await checkKeys(target, { keys: config.encryption, module: undefined }, log);
}

const getReason = (thrown: unknown): string => toError(thrown).message.replace(/\.$/, '');

/** Passes a sentence on, and makes one of Postgres' own error, such as a missing permission. */
function throwReadFailure(thrown: unknown): never {
  if (thrown instanceof StartError) throw thrown;
  const sentence = `The saver's tables in the database of --from can't be read: ${getReason(thrown)}.`;
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
  for await (const id of config.threads ?? loadSavedThreadIds(sides.source)) {
    const found = await importOrPreview(sides, id, options).catch((error: unknown) =>
      throwStopped(error, id, { counts, signal }),
    );
    counts[found.is] += 1;
    if (found.is === 'refused') out(`Thread ${id} is left out: ${found.why}.`);
    else counts.checkpoints += found.checkpoints;
    if (performance.now() - reportedAt < PROGRESS) continue;
    reportedAt = performance.now();
    out(
      `${counts.imported + counts.there + counts.refused} of ${all} threads: ${formatSummary(counts)}`,
    );
  }
  out(
    `${config.dryRun ? 'An import would do this, and nothing was written' : 'Done'}: ${formatSummary(counts)}`,
  );
  if (counts.refused > 0)
    throw new StartError(
      `${counts.refused} of ${all} threads were left out; the lines above say why.`,
    );
}

async function importOrPreview(
  sides: Sides,
  id: string,
  { config, signal }: ImportOptions,
): Promise<Imported> {
  signal.throwIfAborted();
  if (!config.dryRun) return importThread(sides, id, config.graph, signal);
  if (await hasThread(sides.target, toImportedId(id))) return { is: 'there', checkpoints: 0 };
  return planImport(sides.source, id, config.graph);
}

const formatSummary = ({ imported, there, refused, checkpoints }: Counts): string =>
  `${imported} imported with ${checkpoints} checkpoints, ${there} already there, ${refused} left out.`;

function throwStopped(
  thrown: unknown,
  id: string,
  { counts, signal }: { counts: Counts; signal: AbortSignal },
): never {
  const so = `Before: ${formatSummary(counts)} Start it again to continue.`;
  if (signal.aborted)
    throw new StartError(`The import was asked to stop, at thread ${id}. ${so}`, { cause: thrown });
  const sentence = `The import stopped at thread ${id}: ${getReason(thrown)}. ${so}`;
  throw new StartError(sentence, { cause: thrown, exitCode: EXIT.database });
}

type Sides<S = Database, T = Database> = { source: S; target: T };

type Imported = { is: 'imported' | 'there'; checkpoints: number } | { is: 'refused'; why: string };

/** Python's uuid.NAMESPACE_OID, so that users can find out the ids of their threads. */
const NAMESPACE = '6ba7b812-9dad-11d1-80b4-00c04fd430c8';

/** Returns the id of an imported thread: its own one, or another that follows from it where that is no UUID. */
const toImportedId = (id: string): string =>
  isUuid(id) ? id.toLowerCase() : buildNamedId(NAMESPACE, id);

/** Has a transaction see the source as it was at its beginning, and only read. */
const setSnapshot = (source: Db): Promise<unknown> =>
  source.query({ text: 'set transaction isolation level repeatable read, read only' });

/** Returns the result that an import of the thread would have in a target without it. */
const planImport = (source: Database, id: string, graph: string | undefined): Promise<Imported> =>
  source.transaction(async (reading) => {
    await setSnapshot(reading);
    const saved = await loadSavedThread(reading, id);
    const why = checkImportable(saved, graph);
    return why === undefined
      ? { is: 'imported', checkpoints: saved.checkpoints }
      : { is: 'refused', why };
  });

/** Imports a thread whole, or nothing of it. */
function importThread(
  { source, target }: Sides,
  id: string,
  graph: string | undefined,
  signal: AbortSignal,
): Promise<Imported> {
  return source.transaction(async (reading): Promise<Imported> => {
    await setSnapshot(reading);
    const saved = await loadSavedThread(reading, id);
    const why = checkImportable(saved, graph);
    if (why !== undefined) return { is: 'refused', why };
    const record = buildImportedThread(id, toImportedId(id), saved, graph);
    return target.transaction(async (writing) => {
      if (!(await insertImported(writing, record))) return { is: 'there', checkpoints: 0 };
      const sides = { source: reading, target: writing };
      await copyCheckpoints(sides, { id, threadId: record.thread_id, signal });
      await copyWrites(sides, { id, threadId: record.thread_id, signal });
      return { is: 'imported', checkpoints: saved.checkpoints };
    });
  });
}

type Names = { id: string; threadId: string; signal: AbortSignal };

async function copyCheckpoints(
  { source, target }: Sides<Db, Db>,
  { id, threadId, signal }: Names,
): Promise<void> {
  const plan = new ValuePlan(await loadValuePlaces(source, id));
  for (const places of splitIntoGroups(
    await loadCheckpointPlaces(source, id),
    ({ bytes }) => bytes,
  )) {
    const planned = (await loadSavedCheckpoints(source, places)).map((saved) => plan.plan(saved));
    for (const group of splitIntoGroups(planned, sumBytes)) {
      signal.throwIfAborted();
      const values = await loadSavedValues(
        source,
        group.flatMap((one) => one.places),
      );
      await write(
        target,
        group.map((one) => ({ put: toStoredCheckpoint(threadId, one, filterValues(one, values)) })),
      );
    }
  }
}

const sumBytes = ({ places }: PlannedCheckpoint): number =>
  places.reduce((sum, { bytes }) => sum + bytes, 0);

function filterValues({ places }: PlannedCheckpoint, values: SavedValue[]): SavedValue[] {
  const own = new Set(places.map(({ at }) => at));
  return values.filter(({ at }) => own.has(at));
}

async function copyWrites(
  { source, target }: Sides<Db, Db>,
  { id, threadId, signal }: Names,
): Promise<void> {
  for (const places of splitIntoGroups(await writePlaces(source, id), ({ bytes }) => bytes)) {
    signal.throwIfAborted();
    await write(
      target,
      (await loadSavedWrites(source, places)).map((saved) => ({
        writes: toStoredWrites(threadId, saved),
      })),
    );
  }
}

/** Writes steps that belong to no run. */
const write = (target: Db, steps: Step[]): Promise<unknown> =>
  writeSteps(target, [{ attempt: undefined, steps }]);
