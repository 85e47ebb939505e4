import { WRITES_IDX_MAP, type BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import type { Database } from '../db/pool.ts';
import { writeSteps, type Step } from '../db/checkpoints.ts';
import { Together } from '../db/together.ts';

type Config = Parameters<BaseCheckpointSaver['put']>[0];
type Checkpoint = Parameters<BaseCheckpointSaver['put']>[1];
type Metadata = Parameters<BaseCheckpointSaver['put']>[2];
type Versions = Parameters<BaseCheckpointSaver['put']>[3];
type Writes = Parameters<BaseCheckpointSaver['putWrites']>[1];

const VERSION_DIGITS = 32;

/**
 * LangGraph's Postgres saver on the same tables, with a step written in one statement instead of a transaction of many.
 * Versions are unique texts: two checkpoints that fork from the same parent must not share a stored channel value.
 */
export class Saver extends PostgresSaver {
  readonly #steps: Together<Step, undefined>;
  /** Threads without a checkpoint, whose runs have not asked for one yet. */
  readonly #empty = new Set<string>();

  constructor(db: Database) {
    super(namedStatements(db) as never, undefined, { schema: 'gx' });
    this.#steps = new Together(async (steps) => {
      await writeSteps(db, steps);
      return steps.map(() => undefined);
    });
    this.isSetup = true;
  }

  /** Tells that the thread has no checkpoint: its run, which asks for the last one first, is spared the question. */
  isEmpty(threadId: string): void {
    this.#empty.add(threadId);
  }

  /** The thread's run is over, whether it has asked or not. */
  forget(threadId: string): void {
    this.#empty.delete(threadId);
  }

  override async getTuple(config: Config): ReturnType<PostgresSaver['getTuple']> {
    const { thread_id, checkpoint_ns = '', checkpoint_id } = config.configurable as Record<string, string>;
    const known = checkpoint_ns === '' && checkpoint_id === undefined && this.#empty.delete(thread_id!);
    return known ? undefined : super.getTuple(config);
  }

  override getNextVersion(current: number | undefined): number {
    const text = String(current ?? '0');
    const next = Number.parseInt(text.split('.')[0] ?? '0', 10) + 1;
    const unique = Math.random().toString().slice(2, 18).padEnd(16, '0');
    return `${String(next).padStart(VERSION_DIGITS, '0')}.${unique}` as unknown as number;
  }

  override async put(config: Config, checkpoint: Checkpoint, metadata: Metadata, newVersions: Versions): Promise<Config> {
    const { thread_id, checkpoint_ns = '', checkpoint_id, run_id } = config.configurable as Record<string, string>;
    const [blobs, meta] = await Promise.all([
      this._dumpBlobs(thread_id!, checkpoint_ns, checkpoint.channel_values, newVersions),
      this._dumpMetadata({ ...metadata, ...(run_id && { run_id }) }),
    ]);
    const put = {
      key: [thread_id!, checkpoint_ns, checkpoint.id] as [string, string, string],
      parentId: checkpoint_id ?? null,
      checkpoint: this._dumpCheckpoint(checkpoint),
      metadata: meta,
      blobs: blobs.map(([, , channel, version, type, blob]) => ({ channel, version, type, blob: blob ?? null })),
    };
    await this.#steps.add({ put });
    return { configurable: { thread_id, checkpoint_ns, checkpoint_id: checkpoint.id } };
  }

  override async putWrites(config: Config, writes: Writes, taskId: string): Promise<void> {
    const { thread_id, checkpoint_ns = '', checkpoint_id, run_id = null } = config.configurable as Record<string, string>;
    const dumped = await this._dumpWrites(thread_id!, checkpoint_ns, checkpoint_id!, taskId, writes);
    const step = {
      key: [thread_id!, checkpoint_ns, checkpoint_id!] as [string, string, string],
      taskId,
      runId: run_id,
      replace: writes.every(([channel]) => channel in WRITES_IDX_MAP),
      writes: dumped.map(([, , , , index, channel, type, blob]) => ({ index, channel, type, blob })),
    };
    await this.#steps.add({ writes: step });
  }
}

/** The pool as the parent class wants it, with a name for each of its few statements, so that they are planned once. */
function namedStatements(db: Database): object {
  const names = new Map<string, string>();
  return {
    connect: () => db.pool.connect(),
    end: () => db.pool.end(),
    query: async (text: string, values: unknown[]) => {
      const name = names.get(text) ?? `saver_${names.size}`;
      if (names.size < 50) names.set(text, name);
      return { rows: await db.query(names.has(text) ? { name, text, values } : { text, values }) };
    },
  };
}
