import { type JobInsert, PgBoss, type Db as QueueDb } from 'pg-boss';
import { toError, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database, Db } from '../db/base/pool.ts';
import { loadGoneRevisions, keepGraphs, addLivingRevision } from '../db/runs/revisions.ts';
import { createHash } from 'node:crypto';

/* This file knows the queue, pg-boss. A ticket says that a run of a thread waits; the run itself is the truth. */

type Waiting = { run_id: string; thread_id: string; after_seconds?: number };
/** `revision`: the one that the run is pinned to. */
type Pinned = { revision: string | null };

/** The queue of runs that every revision executes. */
const SHARED = 'runs';
const buildQueueName = (revision: string): string => `${SHARED}/${revision}`;

export type Tickets = {
  /** Inserts tickets. `within` sends the statement that makes their runs, with the queue's as a part. */
  insert<T>(runs: Waiting[], within: (part: QueuePart) => Promise<T>): Promise<T>;
  /**
   * Sends a ticket, if the run's queue is one of this process. `continued` means that the run was under way before, so
   * it goes on before any new one begins.
   */
  send(db: Db, run: Waiting & Pinned, options?: { continued?: boolean }): Promise<void>;
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
const LIFE = { retryLimit: 0, expireInSeconds: 30, deleteAfterSeconds: 30 };
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
  await checkParts(boss, own);
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
    insert: (runs, within) =>
      sendThrough(
        (connection) => boss.insert(own, runs.map(buildJob), { db: connection }),
        async (part) => ({ rows: [], answer: await within(part) }),
      ),
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
      const answer = await sendThrough(
        (connection) =>
          boss.fetch(from === 'own' ? own : SHARED, { batchSize: limit, db: connection }),
        async (part) => {
          const claimed = await within(part);
          return { rows: claimed.tickets.map((id) => ({ id })), answer: claimed };
        },
      );
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

type Opening = Required<Pick<Settings, 'works' | 'preparing'>> & { queues: string[] };

async function openBoss(
  db: Database,
  { works, preparing, queues }: Opening,
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

const buildJob = ({ run_id, thread_id, after_seconds = 0 }: Waiting): JobInsert => ({
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

/* The statements of pg-boss become a part of our own, which costs no round trip. */

/**
 * A statement of the queue as a part of another one: its text, with its parameters from a given one on, and its values.
 * `name` is the same for the same text only.
 */
type QueuePart = { name: string; sql: (parameter: number) => string; values: unknown[] };

/** Returns a short name for a text. Postgres cuts off longer ones. */
const hashName = (text: string): string =>
  createHash('sha1').update(text).digest('base64url').slice(0, 12);

/** Returns a connection that plans each statement once. */
const buildConnection = (db: Db, kind: string): QueueDb => ({
  executeSql: async (text: string, values: unknown[] = []) => ({
    rows: await db.query({ name: `${kind}_${hashName(text)}`, text, values }),
  }),
});

/** Lets pg-boss send a statement, which `within` makes a part of its own. Returns the answer of `within`. */
async function sendThrough<T>(
  send: (connection: QueueDb) => Promise<unknown>,
  within: (part: QueuePart) => Promise<{ rows: object[]; answer: T }>,
): Promise<T> {
  const { promise: answered, resolve, reject } = Promise.withResolvers<T>();
  const executeSql: QueueDb['executeSql'] = async (text, values = []) => {
    const formatSql = (parameter: number): string =>
      text.replaceAll(/\$(\d+)/g, (_, own: string) => `$${parameter - 1 + Number(own)}`);
    // pg-boss keeps some errors to itself, for which it has its own meaning.
    const sent = within({ name: hashName(text), sql: formatSql, values }).catch(
      (error: unknown) => {
        reject(error);
        throw error;
      },
    );
    const { rows, answer } = await sent;
    resolve(answer);
    return { rows };
  };
  const [answer] = await Promise.all([answered, send({ executeSql }).catch(reject)]);
  return answer;
}

/** Looks whether the statements of the installed version of pg-boss can be parts of ours. */
export async function checkParts(boss: PgBoss, queue: string): Promise<void> {
  const readSql = (send: (connection: QueueDb) => Promise<unknown>): Promise<string> =>
    sendThrough(send, ({ sql }) => Promise.resolve({ rows: [], answer: sql(1) }));
  const insert = await readSql((connection) =>
    boss.insert(queue, [{ data: {} }], { db: connection }),
  );
  const fetch = await readSql((connection) => boss.fetch(queue, { batchSize: 2, db: connection }));
  if (!/^\s*insert into\s/i.test(insert) || !insert.includes('$1') || insert.includes('$2'))
    throw new StartError('This version of pg-boss writes jobs in a way this server does not know.');
  if (!/^\s*with\s[^$]*\supdate\s[^$]*\sreturning\s[^$]*\bid, name, data\b[^$]*$/i.test(fetch))
    throw new StartError('This version of pg-boss takes jobs in a way this server does not know.');
}
