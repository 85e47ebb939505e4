import { BaseCheckpointSaver, maxChannelVersion, TASKS, WRITES_IDX_MAP, type CheckpointTuple } from '@langchain/langgraph-checkpoint';
import { asError } from '../../../errors.ts';
import type { Database } from '../../db/pool.ts';
import { deleteCheckpoints } from '../../db/checkpoint-upkeep.ts';
import { IN_A_PACK, packGraphs } from '../../db/checkpoint-packs.ts';
import { writeSteps } from '../../db/checkpoints.ts';
import { readCheckpoints, type StoredCheckpoint, type WhichCheckpoints } from '../../db/stored-checkpoints.ts';
import { Batcher } from '../../db/batcher.ts';
import { graphKey, listsOf } from '../../db/list-rows.ts';
import { allLive, Element } from './element.ts';
import { listsOfRow, Lists, type CheckpointKey, type List, type ListsOfCheckpoint } from './lists.ts';
import { ListTexts } from './list-texts.ts';
import { newValue } from './new-value.ts';
import { Serde, type Form } from './serde.ts';
import { StepsOfRun, type Barrier, type SharedWrites } from './steps-of-run.ts';

type Config = Parameters<BaseCheckpointSaver['put']>[0];
type Checkpoint = Parameters<BaseCheckpointSaver['put']>[1];
type Metadata = Parameters<BaseCheckpointSaver['put']>[2];
type Versions = Parameters<BaseCheckpointSaver['put']>[3];
type Writes = Parameters<BaseCheckpointSaver['putWrites']>[1];

type ListOptions = NonNullable<Parameters<BaseCheckpointSaver['list']>[1]>;

/** `empty`: the thread has no checkpoint. */
type RunOfThread = { thread_id: string; run_id: string; attempt: number; empty: boolean };

/**
 * `ahead`: the graph goes on before a step is stored. `written` is what a step waits for before it is stored.
 * `metadata` is what each checkpoint of the run carries beside LangGraph's own. `lost` hears once that another attempt
 * has the run.
 */
type Storing = { ahead: boolean; written?: Barrier | undefined; metadata?: object | undefined; lost?: () => void };

type WritesOfTask = { writes: Writes; taskId: string; taskPath: string };

type NewState = { checkpoint: Checkpoint; metadata: Metadata; newVersions: Versions };

const decoder = new TextDecoder();
/** Digits for the steps of a thread: ten thousand million can be counted. Each checkpoint holds a dozen versions. */
const VERSION_DIGITS = 10;

/**
 * Steps of each IN_A_PACK after which a run looks whether there is enough for a pack. Several, because a run with
 * durability "exit" stores only its last step.
 */
const STEPS_OF_A_RUN = 8;

/** The task id of writes that no task made: an input, or a state written by hand. */
const NO_TASK = '00000000-0000-0000-0000-000000000000';

/** Checkpoints before this version of LangGraph's format keep their pending sends among the writes of their parent. */
const SENDS_APART_BEFORE = 4;

type SaverOptions = { form?: Form; allowed?: string[][] | undefined; untidied?: (error: unknown) => void };

/**
 * LangGraph's checkpointer on Postgres. It writes a step, and reads a checkpoint, in one statement, and stores a list
 * as what a step adds to it. Versions are unique texts, because two checkpoints that fork from the same parent must not
 * share a stored channel value.
 */
export class Saver extends BaseCheckpointSaver {
  readonly #db: Database;
  readonly #serde: Serde;
  readonly #form: Form;
  readonly #untidied: (error: unknown) => void;
  readonly #lists: Lists;
  /** The JSON of long lists that runs have stored. */
  readonly texts = new ListTexts();
  readonly #shared: SharedWrites;
  readonly #runs = new Map<string, StepsOfRun>();

  /**
   * With `form` "records" the saver is only for showing states: no graph may run on what it reads. `allowed` are the
   * classes that states may hold. `untidied` hears why older steps could not be packed.
   */
  constructor(db: Database, lists: Lists, { form = 'objects', allowed, untidied = () => undefined }: SaverOptions = {}) {
    super();
    this.#db = db;
    this.#lists = lists;
    this.#form = form;
    this.#untidied = untidied;
    this.#serde = new Serde(this.serde, allowed);
    this.serde = this.#serde;
    this.#shared = new Batcher(async (runs) => {
      const given = runs.map((run) => ({ attempt: run.attempt, steps: run.take() }));
      const lost = await writeSteps(db, given);
      for (const run of runs) run.taken();
      return runs.map(({ attempt }) => attempt === undefined || !lost.has(attempt.run_id));
    });
  }

  /**
   * Does the work of a run, whose steps are stored meanwhile, in order. Throws why one could not be stored, unless the
   * work itself failed. At the end it waits for what LangGraph still writes for a graph that was stopped, so that
   * whoever rolls the run back afterwards takes back all of it.
   */
  async during<T>({ thread_id, run_id, attempt, empty }: RunOfThread, storing: Storing, work: () => Promise<T>): Promise<T> {
    const steps = new StepsOfRun(this.#shared, { threadId: thread_id, attempt: { run_id, attempt }, empty, ...storing });
    this.#runs.set(run_id, steps);
    const close = async (): Promise<unknown> => {
      const failure = await steps.close();
      if (failure === undefined) await packGraphs(this.#db, thread_id, steps.toPack).catch(this.#untidied);
      // The run's next attempt may have begun here.
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

  /**
   * Returns where a step goes: one of a run joins the run's others, and a state written by hand is on its own. Returns
   * undefined when the run is over.
   */
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
    if (thread_id === undefined) return undefined;
    if (checkpoint_ns === '' && checkpoint_id === undefined && this.#runsOf(thread_id).some((run) => run.isFirstLook())) return undefined;
    await this.#settled(thread_id);
    const which = { threadId: thread_id, namespace: checkpoint_ns, checkpointId: checkpoint_id || undefined, limit: 1 };
    const { rows, lists } = await this.#read(which);
    const [row] = rows;
    if (row === undefined) return undefined;
    const own = listsOfRow(row, lists);
    // A mere look at states must not push out what a run stands on.
    if (this.#form === 'objects' || !this.#lists.has(row.thread_id, checkpoint_ns))
      this.#lists.remember([row.thread_id, checkpoint_ns, row.checkpoint_id], own);
    return this.#tuple(row, own, row.writes ?? []);
  }

  override async *list(config: Config, options: ListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable as Record<string, string | undefined>;
    const { filter, before, limit } = options;
    await this.#settled(thread_id);
    const { rows, lists } = await this.#read({
      threadId: thread_id || undefined,
      namespace: checkpoint_ns ?? undefined,
      checkpointId: checkpoint_id || undefined,
      before: before?.configurable?.['checkpoint_id'] as string | undefined,
      metadata: filter && Object.keys(filter).length > 0 ? filter : undefined,
      limit: limit === undefined ? undefined : Math.trunc(limit),
    });
    for (const row of rows) yield await this.#tuple(row, listsOfRow(row, lists), tasklessWrites(row));
  }

  async #read(which: WhichCheckpoints): Promise<{ rows: StoredCheckpoint[]; lists: Map<string, List> }> {
    const known = this.#lists.known(which.threadId, which.namespace);
    const prefix = graphKey(which.threadId ?? '', which.namespace ?? '');
    const rows = await readCheckpoints(this.#db, { ...which, known: [...known.keys()].map((key) => key.slice(prefix.length)) });
    const read = listsOf(
      rows.flatMap((row) => row.lists ?? []),
      (key) => known.get(key),
      (stored) => new Element(stored),
    );
    return { rows, lists: new Map([...known, ...read]) };
  }

  /**
   * `reduced` are the writes that LangGraph will put through the channels' reducers, which need real message objects.
   */
  async #tuple(row: StoredCheckpoint, lists: ListsOfCheckpoint, reduced: unknown[]): Promise<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint, metadata } = row;
    const at = (checkpoint_id: string): Config => ({ configurable: { thread_id, checkpoint_ns, checkpoint_id } });
    const form = reduced.length > 0 ? 'objects' : this.#form;
    const load = async (type: string, value: unknown): Promise<unknown> =>
      type === 'bytes' ? Buffer.from(value as string, 'base64') : this.#serde.revive(value, form);
    const channel_values: Record<string, unknown> = {};
    for (const [channel, type, value] of row.values ?? []) {
      const list = lists.get(channel);
      if (list !== undefined) channel_values[channel] = await allLive(list.elements, this.#serde, form);
      else if (type !== 'empty') channel_values[channel] = await load(type, value);
    }
    const pendingWrites: CheckpointTuple['pendingWrites'] = [];
    for (const [task, channel, type, value] of row.writes ?? []) pendingWrites.push([task, channel, await load(type, value)]);
    const whole: Checkpoint = { channel_versions: {}, versions_seen: {}, ...checkpoint, channel_values };
    if (checkpoint.v < SENDS_APART_BEFORE) await this.#addSends(whole, row);
    return {
      config: at(row.checkpoint_id),
      checkpoint: whole,
      metadata: (await this.#serde.revive(metadata)) as Metadata,
      ...(row.parent_checkpoint_id && { parentConfig: at(row.parent_checkpoint_id) }),
      pendingWrites,
    };
  }

  async #addSends(checkpoint: Checkpoint, { thread_id, checkpoint_ns, parent_checkpoint_id }: StoredCheckpoint): Promise<void> {
    if (parent_checkpoint_id === null) return;
    const which = { threadId: thread_id, namespace: checkpoint_ns, checkpointId: parent_checkpoint_id, limit: 1 };
    const sends = (await readCheckpoints(this.#db, which)).flatMap(({ writes }) => writes ?? []).filter(([, channel]) => channel === TASKS);
    if (sends.length === 0) return;
    checkpoint.channel_values[TASKS] = await Promise.all(sends.map(([, , , value]) => this.#serde.revive(value)));
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  /** Returns a version whose text sorts after the former one's, character by character. */
  override getNextVersion(current: number | undefined): number {
    const digits = String(current ?? '').split('.')[0]!;
    const next = Number.parseInt(digits || '0', 10) + 1;
    const unique = Math.random().toString(36).slice(2, 12).padEnd(10, '0');
    // LangGraph compares versions as they are stored; only its types say that they are numbers.
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
    const { channel_values, ...stored } = checkpoint;
    const key: CheckpointKey = [thread_id!, checkpoint_ns, checkpoint.id];
    const lists = new Map(this.#lists.of([thread_id!, checkpoint_ns, checkpoint_id ?? '']));
    // What the first put of a checkpoint stored stays, because a version never changes.
    for (const [channel, list] of this.#lists.of(key) ?? []) if (list.version === newVersions[channel]) lists.set(channel, list);
    // All values are read before anything is awaited, because the graph goes on and may change them.
    const values = Object.entries(newVersions).map(async ([channel, version]) => {
      const before = lists.get(channel);
      if (before?.version === version) return [];
      lists.delete(channel);
      const given = { channel, version: String(version), values: channel_values };
      const [value, list] = await newValue(given, before, { serde: this.#serde, texts: this.texts });
      if (list !== undefined) lists.set(channel, list);
      return value === undefined ? [] : [value];
    });
    const [blobs, [, meta]] = await Promise.all([
      Promise.all(values),
      this.#serde.dumpsTyped({ ...steps.metadata, ...metadata, ...(run_id && { run_id }) }),
    ]);
    this.#lists.remember(key, lists);
    const put = {
      key: [...key] as [string, string, string],
      parentId: checkpoint_id ?? null,
      checkpoint: stored,
      metadata: decoder.decode(meta),
      blobs: blobs.flat(),
    };
    if (!steps.hasAtMost(IN_A_PACK) && (metadata.step ?? 0) % IN_A_PACK < STEPS_OF_A_RUN) steps.toPack.add(checkpoint_ns);
    await steps.add({ put });
  }

  override deleteThread(threadId: string): Promise<void> {
    return deleteCheckpoints(this.#db, [threadId]);
  }

  override async putWrites(config: Config, writes: Writes, taskId: string, taskPath = ''): Promise<void> {
    const steps = this.#stepsOf(config.configurable?.['run_id'] as string | undefined);
    await steps?.during(() => this.#putWrites(steps, config, { writes, taskId, taskPath }));
  }

  async #putWrites(steps: StepsOfRun, config: Config, { writes, taskId, taskPath }: WritesOfTask): Promise<void> {
    const { thread_id, checkpoint_ns = '', checkpoint_id, run_id = null } = config.configurable as Record<string, string>;
    const dumped = writes.map(async ([channel, value], at) => {
      const [type, blob] = await this.#serde.dumpsTyped(value);
      return { index: WRITES_IDX_MAP[channel] ?? at, channel, type, blob };
    });
    const step = {
      key: [thread_id!, checkpoint_ns, checkpoint_id!] as [string, string, string],
      taskId,
      taskPath,
      runId: run_id,
      replace: writes.every(([channel]) => channel in WRITES_IDX_MAP),
      writes: await Promise.all(dumped),
    };
    await steps.add({ writes: step });
  }
}

const tasklessWrites = ({ writes }: StoredCheckpoint): unknown[] => (writes ?? []).filter(([task]) => task === NO_TASK);
