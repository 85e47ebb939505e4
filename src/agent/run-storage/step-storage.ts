import { toError } from '../../errors.ts';
import { Batcher } from '../db/base/batcher.ts';
import { IN_A_PACK, packGraphs } from '../db/checkpoints/checkpoint-packs.ts';
import { deleteCheckpoints } from '../db/threads/checkpoint-upkeep.ts';
import {
  copyCheckpointsTo,
  deleteCheckpointsOfRuns,
  pruneThreads,
} from '../db/threads/checkpointer-calls.ts';
import {
  writeSteps,
  type AttemptOfRun,
  type NewValue,
  type NewWrites,
} from '../db/checkpoints/checkpoints.ts';
import { markBegun } from '../db/runs/leases.ts';
import { toStoredList, toBytes, type ListLengths } from '../db/checkpoints/list-bytes.ts';
import { isListInBytes, LIST_IN_BYTES } from '../db/fields/checkpoint-fields.ts';
import {
  buildGraphKey,
  buildListVersions,
  buildNextList,
  type ListVersion,
} from '../db/checkpoints/list-rows.ts';
import type { RunInLog } from '../kernel/run-fields.ts';
import type { Database } from '../db/base/pool.ts';
import {
  readCheckpoints,
  type StoredCheckpoint,
  type WhichCheckpoints,
} from '../db/checkpoints/stored-checkpoints.ts';
import { Lists, pickRowLists, type CheckpointKey, type ListElement } from './lists.ts';
import { readCheckpoint, type ReadCheckpoint } from './read-checkpoint.ts';
import { StepsOfRun, type Barrier, type SharedWrites } from './steps-of-run.ts';

/**
 * `ahead`: the graph goes on before a step is stored. A step waits for `written` before it is stored. Each checkpoint
 * of the run carries `metadata` beside its own. `lost` hears once that another attempt has the run.
 */
type Storing = {
  ahead: boolean;
  written?: Barrier | undefined;
  metadata?: object | undefined;
  lost?: () => void;
};

/** Where a step stands: a graph of a thread, its last checkpoint there, and the run that makes it. */
export type StepPlace = {
  threadId: string;
  namespace: string;
  checkpointId: string | undefined;
  runId: string | undefined;
};

/** The change that a list in bytes is of another version, its base. Its type and bytes are those of new elements. */
type NewListInBytes = ListLengths & { base: string | null };

/** A value as it is stored: its type and bytes, or a list by its elements; `fresh` are those that no version has. */
export type NewVersion<E> =
  | { type: string; blob: Uint8Array; list?: NewListInBytes | undefined }
  | { elements: readonly E[]; fresh: ReadonlySet<E> };

export type NewStep<E> = {
  id: string;
  /** Without the values of its channels. */
  checkpoint: object;
  /** The number of its step, where steps are numbered. */
  step: number | undefined;
  /** Channel -> the version that is new in this checkpoint. */
  versions: Record<string, string | number>;
  /**
   * Returns the value of such a channel, or undefined for one that is empty. `before` are the elements of the list that
   * the last checkpoint has there. It reads all that may change before it returns.
   */
  valueOf: (
    channel: string,
    before: readonly E[] | undefined,
  ) => Promise<NewVersion<E> | undefined>;
  /** Returns the metadata as JSON text, together with that of the run. */
  metadataOf: (ofRun: object) => Promise<string>;
};

const encoder = new TextEncoder();

/**
 * Steps of each IN_A_PACK after which a run looks whether there is enough for a pack. Several, because a run with
 * durability "exit" stores only its last step.
 */
const STEPS_OF_A_RUN = 8;

/**
 * Stores and reads the steps of runs, whose values are types with bytes to it. It writes a step, and reads a
 * checkpoint, in one statement, and stores a list as the elements that a step adds to it. No two checkpoints that fork
 * from the same parent may share a version of a channel.
 */
export class StepStorage<E extends ListElement> {
  readonly #db: Database;
  readonly #elementOf: (stored: unknown) => E;
  readonly #untidied: (error: unknown, run: RunInLog) => void;
  readonly #lists: Lists<E>;
  readonly #shared: SharedWrites;
  readonly #runs = new Map<string, StepsOfRun>();

  constructor(
    db: Database,
    {
      elementOf,
      rememberedBytes,
      untidied = () => undefined,
    }: {
      elementOf: (stored: unknown) => E;
      /** Bytes of lists that are remembered for the next steps and runs of their threads. */
      rememberedBytes: number;
      /** Hears why older steps could not be packed. */
      untidied?: (error: unknown, run: RunInLog) => void;
    },
  ) {
    this.#db = db;
    this.#elementOf = elementOf;
    this.#untidied = untidied;
    this.#lists = new Lists(rememberedBytes);
    this.#shared = new Batcher(async (runs) => {
      const given = runs.map((run) => ({
        attempt: run.attempt,
        steps: run.take(),
        context: run.context,
      }));
      const lost = await writeSteps(db, given);
      for (const run of runs) run.clearTaken();
      return runs.map(({ attempt }) => attempt === undefined || !lost.has(attempt.run_id));
    });
  }

  /** Whether values are encrypted, so that none may be kept where it would be read. */
  get encrypts(): boolean {
    return this.#db.codec.encrypts;
  }

  /** Says that an attempt after the first begins. Returns false when it is over, and another worker has the run. */
  begin(attempt: AttemptOfRun): Promise<boolean> {
    return markBegun(this.#db, attempt);
  }

  /**
   * Does the work of a run, whose steps are stored meanwhile, in order. Throws why one could not be stored, unless the
   * work itself failed. At the end it waits for the writes of a stopped graph that are still under way, so that a later
   * rollback takes back all of them.
   */
  async runStoring<T>(
    run: RunInLog & {
      attempt: number;
      /** Whether the thread has no checkpoint. */
      empty: boolean;
    },
    storing: Storing,
    work: () => Promise<T>,
  ): Promise<T> {
    const { thread_id, run_id, attempt, empty } = run;
    const steps = new StepsOfRun(this.#shared, {
      threadId: thread_id,
      attempt: { run_id, attempt },
      empty,
      ...storing,
    });
    this.#runs.set(run_id, steps);
    const close = async (): Promise<unknown> => {
      const failure = await steps.close();
      if (failure === undefined)
        await packGraphs(this.#db, thread_id, steps.toPack).catch((error: unknown) =>
          this.#untidied(error, run),
        );
      // The run's next attempt may have begun here.
      if (this.#runs.get(run_id) === steps) this.#runs.delete(run_id);
      return failure;
    };
    const result = await work().catch(async (error: unknown) => {
      await close();
      throw error;
    });
    const failure = await close();
    if (failure !== undefined) throw toError(failure);
    return result;
  }

  /**
   * Returns where a step goes: one of a run joins the run's others, and a state written by hand is on its own. Returns
   * undefined when the run is over.
   */
  #findSteps(runId: string | undefined): StepsOfRun | undefined {
    return runId === undefined ? new StepsOfRun(this.#shared) : this.#runs.get(runId);
  }

  #listRuns(threadId: string | undefined): StepsOfRun[] {
    return [...this.#runs.values()].filter((run) => run.threadId === threadId);
  }

  /** Settles when everything that the thread's run has written can be read. */
  async #waitUntilSettled(threadId: string | undefined): Promise<void> {
    await Promise.all(this.#listRuns(threadId).map((run) => run.waitUntilSettled()));
  }

  /**
   * Returns a checkpoint of a graph, or its last one, and remembers its lists. A mere look (`looks`) pushes out nothing
   * that a run stands on, and waits for no run. Of lists in bytes that are `known`, no row is read.
   */
  async loadCheckpoint(
    at: { threadId: string; namespace: string; checkpointId?: string | undefined },
    { looks, known }: { looks: boolean; known?: string[] | undefined },
  ): Promise<ReadCheckpoint<E> | undefined> {
    const { threadId, namespace, checkpointId } = at;
    if (!looks) {
      if (
        namespace === '' &&
        checkpointId === undefined &&
        this.#listRuns(threadId).some((run) => run.isFirstLook())
      )
        return undefined;
      await this.#waitUntilSettled(threadId);
    }
    const { rows, lists } = await this.#read({ ...at, limit: 1, known });
    const [row] = rows;
    if (row === undefined) return undefined;
    const own = pickRowLists(row, lists);
    if (!looks || !this.#lists.has(row.thread_id, namespace))
      this.#lists.cacheLists([row.thread_id, namespace, row.checkpoint_id], own);
    return readCheckpoint(row, own);
  }

  /** Returns the checkpoints that are asked for, newest first. A mere look waits for no run. */
  async loadCheckpoints(
    which: WhichCheckpoints,
    { looks }: { looks: boolean },
  ): Promise<ReadCheckpoint<E>[]> {
    if (!looks) await this.#waitUntilSettled(which.threadId);
    const { rows, lists } = await this.#read(which);
    return rows.map((row) => readCheckpoint(row, pickRowLists(row, lists)));
  }

  async #read(
    which: WhichCheckpoints,
  ): Promise<{ rows: StoredCheckpoint[]; lists: Map<string, ListVersion<E>> }> {
    const known = this.#lists.listKnown(which.threadId, which.namespace);
    const { known: given = [] } = which;
    const prefix = buildGraphKey(which.threadId ?? '', which.namespace ?? '');
    const rows = await readCheckpoints(this.#db, {
      ...which,
      known: [...given, ...[...known.keys()].map((key) => key.slice(prefix.length))],
    });
    const read = buildListVersions(
      rows.flatMap((row) =>
        (row.lists ?? []).filter(([, , , , , , type]) => !isListInBytes(type)).map(toStoredList),
      ),
      (key) => known.get(key),
      this.#elementOf,
    );
    return { rows, lists: new Map([...known, ...read]) };
  }

  /** Stores a checkpoint. Of a run that is over, it stores nothing. */
  async put(place: StepPlace, step: NewStep<E>): Promise<void> {
    const steps = this.#findSteps(place.runId);
    await steps?.runStep(() => this.#put(steps, place, step));
  }

  async #put(
    steps: StepsOfRun,
    { threadId, namespace, checkpointId }: StepPlace,
    given: NewStep<E>,
  ): Promise<void> {
    const { id, checkpoint, step = 0, versions } = given;
    const key: CheckpointKey = [threadId, namespace, id];
    const lists = new Map(this.#lists.getLists([threadId, namespace, checkpointId ?? '']));
    // The lists that the first put of a checkpoint stored stay, because a version never changes.
    for (const [channel, list] of this.#lists.getLists(key) ?? [])
      if (list.version === versions[channel]) lists.set(channel, list);
    // All values are read before anything is awaited, because the graph goes on and may change them.
    const values = Object.entries(versions).map(async ([channel, version]) => {
      const before = lists.get(channel);
      if (before?.version === version) return [];
      lists.delete(channel);
      const value = await given.valueOf(channel, before?.elements);
      if (value === undefined) return [];
      const [stored, list] = toStoredForm({ channel, version: String(version) }, value, before);
      if (list !== undefined) lists.set(channel, list);
      return [stored];
    });
    const [blobs, metadata] = await Promise.all([
      Promise.all(values),
      given.metadataOf(steps.metadata),
    ]);
    this.#lists.cacheLists(key, lists);
    const put = {
      key: [...key] as [string, string, string],
      parentId: checkpointId ?? null,
      checkpoint,
      metadata,
      blobs: blobs.flat(),
    };
    if (!steps.hasAtMost(IN_A_PACK) && step % IN_A_PACK < STEPS_OF_A_RUN)
      steps.toPack.add(namespace);
    await steps.add({ put });
  }

  /** Stores the writes of a task on a checkpoint, as `writesOf` returns them. It stores none of a run that is over. */
  async putWrites(
    place: StepPlace & { checkpointId: string },
    writesOf: () => Promise<Omit<NewWrites, 'key' | 'runId'>>,
  ): Promise<void> {
    const { threadId, namespace, checkpointId, runId = null } = place;
    const steps = this.#findSteps(place.runId);
    await steps?.runStep(async () =>
      steps.add({
        writes: { ...(await writesOf()), key: [threadId, namespace, checkpointId], runId },
      }),
    );
  }

  deleteThread(threadId: string): Promise<void> {
    return deleteCheckpoints(this.#db, [threadId]);
  }

  /** Removes the steps of the runs. A thread of theirs that has a run under way is refused. */
  deleteRuns(runIds: string[]): Promise<void> {
    return deleteCheckpointsOfRuns(this.#db, runIds);
  }

  /** Copies all that the thread's runs have stored so far to another thread, which has nothing. */
  async copyThread(from: string, to: string): Promise<void> {
    await this.#waitUntilSettled(from);
    await copyCheckpointsTo(this.#db, from, to);
  }

  /** Keeps only the last step of each graph of the threads, or none. A thread that has a run under way is refused. */
  prune(threadIds: string[], strategy: 'keep_latest' | 'delete'): Promise<void> {
    return pruneThreads(this.#db, threadIds, strategy);
  }
}

function toByteValue({
  type,
  blob,
  list,
}: {
  type: string;
  blob: Uint8Array;
  list?: NewListInBytes | undefined;
}) {
  if (list === undefined) return { type, blob };
  return {
    type: `${LIST_IN_BYTES}${type}`,
    blob: toBytes(list, blob),
    base: list.base ?? undefined,
  };
}

/** Returns the row of a new version of a channel and, for a list, the version to compare its next one with. */
function toStoredForm<E extends ListElement>(
  { channel, version }: { channel: string; version: string },
  value: NewVersion<E>,
  before: ListVersion<E> | undefined,
): [NewValue, ListVersion<E>?] {
  if ('blob' in value) return [{ channel, version, ...toByteValue(value) }];
  const { base, text, list } = buildNextList(before, {
    version,
    ...value,
    textOf: (element) => element.text,
  });
  return [{ channel, version, type: 'list', blob: encoder.encode(text), base }, list];
}
