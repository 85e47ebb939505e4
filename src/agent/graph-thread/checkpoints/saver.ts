import { WRITES_IDX_MAP, type BaseCheckpointSaver, type CheckpointTuple } from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { asError } from '../../../errors.ts';
import type { Database } from '../../db/pool.ts';
import { readCheckpoints, writeSteps, type StoredCheckpoint } from '../../db/checkpoints.ts';
import { Batcher } from '../../db/batcher.ts';
import { Serde, type Form } from './serde.ts';
import { StepsOfRun, type Barrier, type SharedWrites } from './steps-of-run.ts';

/** What the parent class takes. It uses three of its methods. */
type Pool = ConstructorParameters<typeof PostgresSaver>[0];
type Config = Parameters<BaseCheckpointSaver['put']>[0];
type Checkpoint = Parameters<BaseCheckpointSaver['put']>[1];
type Metadata = Parameters<BaseCheckpointSaver['put']>[2];
type Versions = Parameters<BaseCheckpointSaver['put']>[3];
type Writes = Parameters<BaseCheckpointSaver['putWrites']>[1];

type ListOptions = NonNullable<Parameters<BaseCheckpointSaver['list']>[1]>;

/** `empty`: the thread has no checkpoint. */
type RunOfThread = { thread_id: string; run_id: string; empty: boolean };

/** `ahead`: the graph goes on before a step is stored. `written`: what a step waits for before it is stored. */
type Storing = { ahead: boolean; written?: Barrier | undefined };

type WritesOfTask = { writes: Writes; taskId: string; taskPath: string };

type NewState = { checkpoint: Checkpoint; metadata: Metadata; newVersions: Versions };

const decoder = new TextDecoder();
const VERSION_DIGITS = 32;

/** Writes of no task: an input, or a state written by hand. */
const NO_TASK = '00000000-0000-0000-0000-000000000000';

/** Checkpoints before this version keep their pending sends elsewhere, which LangGraph's own saver knows. */
const OWN_SINCE = 4;

/**
 * LangGraph's Postgres saver on the same tables, but a step is written, and a checkpoint read, in one statement.
 * Versions are unique texts, because two checkpoints that fork from the same parent must not share a stored channel
 * value.
 */
export class Saver extends PostgresSaver {
  readonly #db: Database;
  readonly #serde: Serde;
  readonly #form: Form;
  readonly #shared: SharedWrites;
  readonly #runs = new Map<string, StepsOfRun>();

  /** With `form` "records" it is for showing states only: no graph may run on what it reads. */
  constructor(db: Database, form: Form = 'objects') {
    super(namedStatements(db), undefined, { schema: 'gx' });
    this.#db = db;
    this.#form = form;
    this.#serde = new Serde(this.serde);
    this.serde = this.#serde;
    this.#shared = new Batcher(async (runs) => {
      await writeSteps(
        db,
        runs.flatMap((run) => run.take()),
      );
      for (const run of runs) run.taken();
      return runs.map(() => undefined);
    });
    this.isSetup = true;
  }

  /**
   * Does the work of a run, whose steps are stored meanwhile, in order; throws why one could not be stored, unless the
   * work itself failed. At the end it waits for what LangGraph still writes for a graph that was stopped, so that
   * whoever takes the run back afterwards takes back all of it.
   */
  async during<T>({ thread_id, run_id, empty }: RunOfThread, storing: Storing, work: () => Promise<T>): Promise<T> {
    const steps = new StepsOfRun(this.#shared, { threadId: thread_id, empty, ...storing });
    this.#runs.set(run_id, steps);
    const close = async (): Promise<unknown> => {
      const failure = await steps.close();
      // The next attempt may have begun here.
      if (this.#runs.get(run_id) === steps) this.#runs.delete(run_id);
      return failure;
    };
    const result = await work().catch(async (error: unknown) => {
      await close();
      throw error;
    });
    const failure = await close();
    if (failure !== undefined) throw asError(failure);
    return result;
  }

  /** Steps of a run count among its own; a state written by hand is nobody's. Undefined when the run is over. */
  #stepsOf(runId: string | undefined): StepsOfRun | undefined {
    return runId === undefined ? new StepsOfRun(this.#shared) : this.#runs.get(runId);
  }

  #runsOf(threadId: string | undefined): StepsOfRun[] {
    return [...this.#runs.values()].filter((run) => run.threadId === threadId);
  }

  /** Settles when what the thread's run has written can be read. */
  async #settled(threadId: string | undefined): Promise<void> {
    await Promise.all(this.#runsOf(threadId).map((run) => run.settled()));
  }

  override async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
    const { thread_id, checkpoint_ns = '', checkpoint_id } = config.configurable as Record<string, string | undefined>;
    if (checkpoint_ns === '' && checkpoint_id === undefined && this.#runsOf(thread_id).some((run) => run.isFirstLook())) return undefined;
    await this.#settled(thread_id);
    const which = { threadId: thread_id, namespace: checkpoint_ns, checkpointId: checkpoint_id || undefined, limit: 1 };
    const [row] = await readCheckpoints(this.#db, which);
    if (row === undefined) return undefined;
    return row.checkpoint.v < OWN_SINCE ? super.getTuple(config) : this.#tuple(row, row.writes ?? []);
  }

  override async *list(config: Config, options: ListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable as Record<string, string | undefined>;
    const { filter, before, limit } = options;
    await this.#settled(thread_id);
    const rows = await readCheckpoints(this.#db, {
      threadId: thread_id || undefined,
      namespace: checkpoint_ns ?? undefined,
      checkpointId: checkpoint_id || undefined,
      before: before?.configurable?.['checkpoint_id'] as string | undefined,
      metadata: filter && Object.keys(filter).length > 0 ? filter : undefined,
      limit: limit === undefined ? undefined : Math.trunc(limit),
    });
    if (rows.some(({ checkpoint }) => checkpoint.v < OWN_SINCE)) return yield* super.list(config, options);
    for (const row of rows) yield await this.#tuple(row, tasklessWrites(row));
  }

  /**
   * `reduced`: the writes that LangGraph will put through the channels' reducers, which want messages as they know
   * them.
   */
  async #tuple(row: StoredCheckpoint, reduced: unknown[]): Promise<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint, metadata } = row;
    const at = (checkpoint_id: string): Config => ({ configurable: { thread_id, checkpoint_ns, checkpoint_id } });
    const form = reduced.length > 0 ? 'objects' : this.#form;
    const load = async (type: string, value: unknown): Promise<unknown> =>
      type === 'bytes' ? Buffer.from(value as string, 'base64') : this.#serde.revive(value, form);
    const channel_values: Record<string, unknown> = {};
    for (const [channel, type, value] of row.values ?? []) if (type !== 'empty') channel_values[channel] = await load(type, value);
    const pendingWrites: CheckpointTuple['pendingWrites'] = [];
    for (const [task, channel, type, value] of row.writes ?? []) pendingWrites.push([task, channel, await load(type, value)]);
    return {
      config: at(row.checkpoint_id),
      checkpoint: { channel_versions: {}, versions_seen: {}, ...checkpoint, channel_values },
      metadata: (await this.#serde.revive(metadata)) as Metadata,
      ...(row.parent_checkpoint_id && { parentConfig: at(row.parent_checkpoint_id) }),
      pendingWrites,
    };
  }

  override getNextVersion(current: number | undefined): number {
    const text = String(current ?? '0');
    const next = Number.parseInt(text.split('.')[0] ?? '0', 10) + 1;
    const unique = Math.random().toString().slice(2, 18).padEnd(16, '0');
    // LangGraph compares versions as it stores them; only its types say that they are numbers.
    return `${String(next).padStart(VERSION_DIGITS, '0')}.${unique}` as unknown as number;
  }

  override async put(config: Config, checkpoint: Checkpoint, metadata: Metadata, newVersions: Versions): Promise<Config> {
    const { thread_id, checkpoint_ns = '', run_id } = config.configurable as Record<string, string>;
    const steps = this.#stepsOf(run_id);
    await steps?.during(() => this.#put(steps, config, { checkpoint, metadata, newVersions }));
    return { configurable: { thread_id, checkpoint_ns, checkpoint_id: checkpoint.id } };
  }

  async #put(steps: StepsOfRun, config: Config, { checkpoint, metadata, newVersions }: NewState): Promise<void> {
    const { thread_id, checkpoint_ns = '', checkpoint_id, run_id } = config.configurable as Record<string, string>;
    const [blobs, [, meta]] = await Promise.all([
      this._dumpBlobs(thread_id!, checkpoint_ns, checkpoint.channel_values, newVersions),
      this.#serde.dumpsTyped({ ...metadata, ...(run_id && { run_id }) }),
    ]);
    const put = {
      key: [thread_id!, checkpoint_ns, checkpoint.id] as [string, string, string],
      parentId: checkpoint_id ?? null,
      checkpoint: this._dumpCheckpoint(checkpoint),
      metadata: decoder.decode(meta),
      blobs: blobs.map(([, , channel, version, type, blob]) => ({ channel, version, type, blob: blob ?? null })),
    };
    await steps.written?.();
    await steps.add({ put });
  }

  override async putWrites(config: Config, writes: Writes, taskId: string, taskPath = ''): Promise<void> {
    const steps = this.#stepsOf(config.configurable?.['run_id'] as string | undefined);
    await steps?.during(() => this.#putWrites(steps, config, { writes, taskId, taskPath }));
  }

  async #putWrites(steps: StepsOfRun, config: Config, { writes, taskId, taskPath }: WritesOfTask): Promise<void> {
    const { thread_id, checkpoint_ns = '', checkpoint_id, run_id = null } = config.configurable as Record<string, string>;
    const dumped = await this._dumpWrites(thread_id!, checkpoint_ns, checkpoint_id!, taskId, writes);
    const step = {
      key: [thread_id!, checkpoint_ns, checkpoint_id!] as [string, string, string],
      taskId,
      taskPath,
      runId: run_id,
      replace: writes.every(([channel]) => channel in WRITES_IDX_MAP),
      writes: dumped.map(([, , , , index, channel, type, blob]) => ({ index, channel, type, blob })),
    };
    await steps.written?.();
    await steps.add({ writes: step });
  }
}

const tasklessWrites = ({ writes }: StoredCheckpoint): unknown[] => (writes ?? []).filter(([task]) => task === NO_TASK);

/**
 * Returns the pool as the parent class wants it, with a name for each of its few statements, so that they are planned
 * once.
 */
function namedStatements(db: Database): Pool {
  const names = new Map<string, string>();
  const used = {
    connect: () => db.pool.connect(),
    end: () => db.pool.end(),
    query: async (text: string, values: unknown[]) => {
      const name = names.get(text) ?? `saver_${names.size}`;
      if (names.size < 50) names.set(text, name);
      return { rows: await db.query(names.has(text) ? { name, text, values } : { text, values }) };
    },
  };
  return used as Partial<Pool> as Pool;
}
