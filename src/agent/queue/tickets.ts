import { type JobInsert, PgBoss, type Db as QueueDb } from 'pg-boss';
import { toError, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database, Db } from '../db/base/pool.ts';
import { loadGoneRevisions, keepGraphs, addLivingRevision } from '../db/runs/revisions.ts';
import {
  buildTicketClaim,
  buildTicketInsert,
  hashName,
  type QueuePart,
  type TicketLife,
  type WaitingRun,
} from './ticket-statements.ts';

/* This file knows the queue, pg-boss. A ticket says that a run of a thread waits; the run itself is the truth. */

/** `revision`: the one that the run is pinned to. */
type Pinned = { revision: string | null };

/** The queue of runs that every revision executes. */
const SHARED = 'runs';
const buildQueueName = (revision: string): string => `${SHARED}/${revision}`;

export type Tickets = {
  /** Builds the insert of tickets, as a part of the statement that makes their runs. */
  buildInsert(runs: readonly WaitingRun[]): QueuePart;
  /**
   * Sends a ticket, if the run's queue is one of this process. `continued` means that the run was under way before, so
   * it goes on before any new one begins.
   */
  send(db: Db, run: WaitingRun & Pinned, options?: { continued?: boolean }): Promise<void>;
  /** Returns true if runs that are pinned to this revision, or to none, get tickets here. */
  has(revision: string | null): boolean;
  hasOwn: boolean;
  /**
   * Takes at most so many due tickets. `within` sends the statement that claims their runs, with the queue's as a part,
   * and returns the ids of the tickets; both happen or neither. The tickets are deleted later. Those of a process that
   * dies before expire, and are deleted then. `from`: the process's own queue, unless another is named.
   */
  take<T extends { tickets: string[] }>(
    limit: number,
    within: (part: QueuePart) => Promise<T>,
    from?: 'own' | 'shared',
  ): Promise<T>;
  /** Removes the queues of revisions whose work this one has inherited. */
  dropGone(): Promise<void>;
  close(): Promise<void>;
};

/**
 * `preparing` is the connection that prepares the queue's tables, if it is another one. `revision`: the one that new
 * runs are pinned to here, with its graphs.
 */
type Settings = {
  works: boolean;
  preparing?: Database;
  revision?: string | undefined;
  graphs?: string[];
};

/**
 * A ticket that was taken is gone within a second, unless its process died. It is not delivered again: the run is
 * claimed by then, so its lease guards it, and `stragglers` finds a run that has no ticket. A queue keeps the life that
 * it was made with: a version that changes it must change the queues that exist.
 */
const LIFE: TicketLife = { retryLimit: 0, expireInSeconds: 30, deleteAfterSeconds: 30 };
/** Seconds between two looks at tickets that have expired. */
const UPKEEP = 60;

/** Opens the queue that all processes share and, for one whose runs are pinned to a revision, the queue of that. */
export async function openTickets(
  db: Database,
  { works, preparing = db, revision, graphs = [] }: Settings,
  log: Log,
): Promise<Tickets> {
  const own = revision === undefined ? SHARED : buildQueueName(revision);
  const boss = await openBoss(db, { works, preparing, queues: [...new Set([SHARED, own])] }, log);
  if (revision !== undefined) {
    await addLivingRevision(preparing, revision);
    await keepGraphs(preparing, revision, graphs);
  }
  const createTaken = (queue: string): TakenTickets =>
    new TakenTickets(
      (ids) => boss.deleteJob(queue, ids, { db: buildConnection(db, 'ticket_delete') }),
      log,
    );
  const shared = createTaken(SHARED);
  const taken = { shared, own: own === SHARED ? shared : createTaken(own) };
  const has = (of: string | null): boolean => of === null || of === revision;
  return {
    buildInsert: (runs) => buildTicketInsert(own, LIFE, runs),
    send: async (target, run, { continued = false } = {}) => {
      if (!has(run.revision)) return;
      const job = { ...buildJob(run), ...(continued && { priority: 1 }) };
      await boss.insert(run.revision === null ? SHARED : own, [job], {
        db: buildConnection(target, 'ticket_send'),
      });
    },
    has,
    hasOwn: own !== SHARED,
    take: async (limit, within, from = 'own') => {
      const answer = await within(buildTicketClaim(from === 'own' ? own : SHARED, limit));
      taken[from].add(answer.tickets);
      return answer;
    },
    dropGone: async () => {
      const gone =
        revision === undefined
          ? []
          : await loadGoneRevisions(db, { own: revision, prefix: buildQueueName('') });
      for (const each of gone) await boss.deleteQueue(buildQueueName(each));
    },
    close: async () => {
      await Promise.all([taken.own.close(), taken.shared.close()]);
      await boss.stop({ graceful: false, close: false });
    },
  };
}

async function openBoss(
  db: Database,
  {
    works,
    preparing,
    queues,
  }: Required<{ works: boolean; preparing?: Database }> & { queues: string[] },
  log: Log,
): Promise<PgBoss> {
  let { pool } = preparing;
  const executeSql = async (
    text: string,
    values: unknown[] = [],
  ): Promise<{ rows: Record<string, unknown>[] }> => {
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
    for (const queue of queues) await boss.createQueue(queue, LIFE);
    pool = db.pool;
  } catch (error) {
    throw new StartError(`The queue's tables can't be prepared: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  return boss;
}

const buildJob = ({ run_id, thread_id, after_seconds = 0 }: WaitingRun): JobInsert => ({
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
    await this.#drop(ids).catch((error: unknown) =>
      this.#log.debug({ err: toError(error) }, 'tickets will expire'),
    );
  }
}

/** Returns a connection that plans each statement once. */
const buildConnection = (db: Db, kind: string): QueueDb => ({
  executeSql: async (text: string, values: unknown[] = []) => ({
    rows: await db.query({ name: `${kind}_${hashName(text)}`, text, values }),
  }),
});
