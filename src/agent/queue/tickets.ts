import { type JobInsert, PgBoss } from 'pg-boss';
import { asError, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database, Db } from '../db/base/pool.ts';
import { checkParts, connectionOf, type QueuePart, through } from './queue-parts.ts';

/* This file knows the queue, pg-boss. A ticket says that a run of a thread waits; the run itself is the truth. */

type Waiting = { run_id: string; thread_id: string; after_seconds?: number };

export type Tickets = {
  /** Inserts tickets. `within` sends the statement that makes their runs, with the queue's as a part. */
  insert<T>(runs: Waiting[], within: (part: QueuePart) => Promise<T>): Promise<T>;
  /** Sends a ticket. `continued` means that the run was under way before, so it goes on before any new one begins. */
  send(db: Db, run: Waiting, options?: { continued?: boolean }): Promise<void>;
  /**
   * Takes at most so many due tickets. `within` sends the statement that claims their runs, with the queue's as a part,
   * and returns the ids of the tickets; both happen or neither. The tickets are deleted later. Those of a process that
   * dies before expire, and are deleted then.
   */
  take<T extends { tickets: string[] }>(limit: number, within: (part: QueuePart) => Promise<T>): Promise<T>;
  close(): Promise<void>;
};

/** `preparing` is the connection that prepares the queue's tables, if it is another one. */
type Settings = { works: boolean; preparing?: Database; queue?: string };

/**
 * A ticket that was taken is gone within a second, unless its process died. It is not delivered again: the run is
 * claimed by then, so its lease guards it, and `stragglers` finds a run that has no ticket. A queue keeps the life that
 * it was made with: a version that changes it must change the queues that exist.
 */
const LIFE = { retryLimit: 0, expireInSeconds: 30, deleteAfterSeconds: 30 };
/** Seconds between two looks at tickets that have expired. */
const UPKEEP = 60;

/** Opens the queue of this name. */
export async function openTickets(db: Database, { works, preparing = db, queue = 'runs' }: Settings, log: Log): Promise<Tickets> {
  const boss = await openBoss(db, { works, preparing, queue }, log);
  await checkParts(boss, queue);
  const taken = new TakenTickets((ids) => boss.deleteJob(queue, ids, { db: connectionOf(db, 'ticket_delete') }), log);
  return {
    insert: (runs, within) =>
      through(
        (connection) => boss.insert(queue, runs.map(jobOf), { db: connection }),
        async (part) => ({ rows: [], answer: await within(part) }),
      ),
    send: async (target, run, { continued = false } = {}) => {
      const job = { ...jobOf(run), ...(continued && { priority: 1 }) };
      await boss.insert(queue, [job], { db: connectionOf(target, 'ticket_send') });
    },
    take: async (limit, within) => {
      const answer = await through(
        (connection) => boss.fetch(queue, { batchSize: limit, db: connection }),
        async (part) => {
          const claimed = await within(part);
          return { rows: claimed.tickets.map((id) => ({ id })), answer: claimed };
        },
      );
      taken.add(answer.tickets);
      return answer;
    },
    close: async () => {
      await taken.close();
      await boss.stop({ graceful: false, close: false });
    },
  };
}

async function openBoss(db: Database, { works, preparing, queue }: Required<Settings>, log: Log): Promise<PgBoss> {
  let { pool } = preparing;
  const executeSql = async (text: string, values: unknown[] = []): Promise<{ rows: Record<string, unknown>[] }> => {
    // A text of several statements has a list of results, which pg's types do not know.
    const result = (await pool.query(text, values)) as unknown as
      | { rows: Record<string, unknown>[] }
      | { rows: Record<string, unknown>[] }[];
    return Array.isArray(result) ? { rows: result.flatMap(({ rows }) => rows ?? []) } : result;
  };
  const boss = new PgBoss({
    db: { executeSql },
    schema: 'pgboss',
    schedule: false,
    supervise: works,
    maintenanceIntervalSeconds: UPKEEP,
    reindex: false,
    registerInstance: false,
  });
  boss.on('error', (error) => log.warn({ err: error }, 'queue maintenance failed'));
  try {
    await boss.start();
    await boss.createQueue(queue, LIFE);
    pool = db.pool;
  } catch (error) {
    throw new StartError(`The queue's tables can't be prepared: ${(error as Error).message}.`, { cause: error });
  }
  return boss;
}

const jobOf = ({ run_id, thread_id, after_seconds = 0 }: Waiting): JobInsert => ({
  data: { run_id, thread_id },
  ...(after_seconds > 0 && { startAfter: `${after_seconds} seconds` }),
});

/** Milliseconds for which tickets that were taken are gathered, so that a busy worker deletes many at once. */
const GATHER = 200;

/** Deletes the tickets that were taken. Nobody waits for it. */
class TakenTickets {
  readonly #drop: (ids: string[]) => Promise<unknown>;
  readonly #log: Log;
  #ids: string[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(drop: (ids: string[]) => Promise<unknown>, log: Log) {
    this.#drop = drop;
    this.#log = log;
  }

  add(ids: string[]): void {
    if (ids.length === 0) return;
    this.#ids.push(...ids);
    this.#timer ??= setTimeout(() => void this.#dropAll(), GATHER);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#dropAll();
  }

  async #dropAll(): Promise<void> {
    this.#timer = undefined;
    const ids = this.#ids.splice(0);
    if (ids.length === 0) return;
    await this.#drop(ids).catch((error: unknown) => this.#log.debug({ err: asError(error) }, 'tickets will expire'));
  }
}
