import { WRITES_IDX_MAP, type BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import type { Database } from '../db/pool.ts';
import { putCheckpoint, putWrites } from '../db/checkpoints.ts';

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
  readonly #db: Database;

  constructor(db: Database) {
    super(namedStatements(db) as never, undefined, { schema: 'gx' });
    this.#db = db;
    this.isSetup = true;
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
    await putCheckpoint(this.#db, {
      key: [thread_id!, checkpoint_ns, checkpoint.id],
      parentId: checkpoint_id ?? null,
      checkpoint: this._dumpCheckpoint(checkpoint),
      metadata: meta,
      blobs: blobs.map(([, , channel, version, type, blob]) => ({ channel, version, type, blob: blob ?? null })),
    });
    return { configurable: { thread_id, checkpoint_ns, checkpoint_id: checkpoint.id } };
  }

  override async putWrites(config: Config, writes: Writes, taskId: string): Promise<void> {
    const { thread_id, checkpoint_ns = '', checkpoint_id, run_id = null } = config.configurable as Record<string, string>;
    const dumped = await this._dumpWrites(thread_id!, checkpoint_ns, checkpoint_id!, taskId, writes);
    await putWrites(this.#db, {
      key: [thread_id!, checkpoint_ns, checkpoint_id!],
      taskId,
      runId: run_id,
      replace: writes.every(([channel]) => channel in WRITES_IDX_MAP),
      writes: dumped.map(([, , , , index, channel, type, blob]) => ({ index, channel, type, blob })),
    });
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
