import { writeSteps, type Step } from '../db/checkpoints/checkpoints.ts';
import { insertImported } from '../db/imports/imported-threads.ts';
import {
  checkpointPlaces,
  checkpointsAt,
  savedThread,
  valuePlaces,
  valuesAt,
  writePlaces,
  writesAt,
  type SavedValue,
} from '../db/imports/saver-tables.ts';
import type { Database, Db } from '../db/base/pool.ts';
import { isUuid, namedId } from '../kernel/ids.ts';
import { faultOf, groups, recordOf, storedCheckpoint, storedWrite, ValuePlan, type PlannedCheckpoint } from './stored-form.ts';

/** Reads from the source, and writes into the target. */
export type Sides<S = Database, T = Database> = { source: S; target: T };

export type Imported = { is: 'imported' | 'there'; checkpoints: number } | { is: 'refused'; why: string };

/** Python's uuid.NAMESPACE_OID, so that users can find out the ids of their threads. */
const NAMESPACE = '6ba7b812-9dad-11d1-80b4-00c04fd430c8';

/** Returns the id of an imported thread: its own one, or another that follows from it where that is no UUID. */
export const importedId = (id: string): string => (isUuid(id) ? id.toLowerCase() : namedId(NAMESPACE, id));

/** Has a transaction see the source as it was at its beginning, and only read. */
const snapshot = (source: Db): Promise<unknown> => source.query({ text: 'set transaction isolation level repeatable read, read only' });

/** Returns the result that an import of the thread would have in a target without it. */
export const previewThread = (source: Database, id: string, graph: string | undefined): Promise<Imported> =>
  source.transaction(async (reading) => {
    await snapshot(reading);
    const saved = await savedThread(reading, id);
    const why = faultOf(saved, graph);
    return why === undefined ? { is: 'imported', checkpoints: saved.checkpoints } : { is: 'refused', why };
  });

/** Imports a thread whole, or nothing of it. */
export function importThread({ source, target }: Sides, id: string, graph: string | undefined, signal: AbortSignal): Promise<Imported> {
  return source.transaction(async (reading): Promise<Imported> => {
    await snapshot(reading);
    const saved = await savedThread(reading, id);
    const why = faultOf(saved, graph);
    if (why !== undefined) return { is: 'refused', why };
    const record = recordOf({ id, thread_id: importedId(id) }, saved, graph);
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

async function copyCheckpoints({ source, target }: Sides<Db, Db>, { id, threadId, signal }: Names): Promise<void> {
  const plan = new ValuePlan(await valuePlaces(source, id));
  for (const places of groups(await checkpointPlaces(source, id), ({ bytes }) => bytes)) {
    const planned = (await checkpointsAt(source, places)).map((saved) => plan.plan(saved));
    for (const group of groups(planned, bytesOf)) {
      signal.throwIfAborted();
      const values = await valuesAt(
        source,
        group.flatMap((one) => one.places),
      );
      await write(
        target,
        group.map((one) => ({ put: storedCheckpoint(threadId, one, valuesOf(one, values)) })),
      );
    }
  }
}

const bytesOf = ({ places }: PlannedCheckpoint): number => places.reduce((sum, { bytes }) => sum + bytes, 0);

function valuesOf({ places }: PlannedCheckpoint, values: SavedValue[]): SavedValue[] {
  const own = new Set(places.map(({ at }) => at));
  return values.filter(({ at }) => own.has(at));
}

async function copyWrites({ source, target }: Sides<Db, Db>, { id, threadId, signal }: Names): Promise<void> {
  for (const places of groups(await writePlaces(source, id), ({ bytes }) => bytes)) {
    signal.throwIfAborted();
    await write(
      target,
      (await writesAt(source, places)).map((saved) => ({ writes: storedWrite(threadId, saved) })),
    );
  }
}

/** Writes steps that belong to no run. */
const write = (target: Db, steps: Step[]): Promise<unknown> => writeSteps(target, [{ attempt: undefined, steps }]);
