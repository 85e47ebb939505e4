import { PgBoss } from 'pg-boss';
import { StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { hidden } from '../db/plans.ts';
import type { Database, Db } from '../db/pool.ts';

export type Tickets = {
  /** Returns pg-boss's insert, as a part of the statement that makes the run. Its one parameter takes `payload`. */
  sql: (parameter: number) => string;
  payload(runs: { run_id: string; thread_id: string; after_seconds?: number }[]): string;
  /** Sends a ticket. `continued` means that the run was under way before, so it goes on before any new one begins. */
  send(db: Db, run: { run_id: string; thread_id: string }, options?: { continued?: boolean }): Promise<void>;
  /**
   * Returns a statement that takes at most `$limit` due tickets and yields their `thread_id`, for the statement that
   * claims their runs.
   */
  takeSql: (limit: number) => string;
  close(): Promise<void>;
};

const QUEUE = 'runs';

/** Opens the queue. `preparing` is the connection that prepares the queue's tables, if it is another one. */
export async function openTickets(
  db: Database,
  { works, preparing = db }: { works: boolean; preparing?: Database },
  log: Log,
): Promise<Tickets> {
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
    reindex: false,
    registerInstance: false,
  });
  boss.on('error', (error) => log.warn({ err: error }, 'queue maintenance failed'));
  try {
    await boss.start();
    await boss.createQueue(QUEUE, { deleteAfterSeconds: 3600 });
    pool = db.pool;
  } catch (error) {
    throw new StartError(`The queue's tables can't be prepared: ${(error as Error).message}.`, { cause: error });
  }
  const insert = await ownInsert(boss);
  const payload: Tickets['payload'] = (runs) =>
    JSON.stringify(
      runs.map(({ run_id, thread_id, after_seconds = 0 }) => ({
        data: { run_id, thread_id },
        ...(after_seconds > 0 && { startAfter: `${after_seconds} seconds` }),
      })),
    );
  const first = ({ run_id, thread_id }: { run_id: string; thread_id: string }): string =>
    JSON.stringify([{ data: { run_id, thread_id }, priority: 1 }]);
  return {
    sql: (parameter) => insert.replaceAll('$1', () => `$${parameter}`),
    payload,
    send: async (target, run, { continued = false } = {}) => {
      await target.query({ name: 'ticket_send', text: insert, values: [continued ? first(run) : payload([run])] });
    },
    takeSql: (limit) => TAKE.replace('$limit', hidden(`$${limit}::int`)),
    close: () => boss.stop({ graceful: false, close: false }),
  };
}

/**
 * Deletes tickets in the statement that claims their runs, so that both happen or neither. They are chosen once, in a
 * CTE: of a subquery that is joined, a plan may choose anew for each row, up to the limit each time.
 */
const TAKE = `with due as materialized (
    select name, id from pgboss.job_common where name = '${QUEUE}' and state < 'active' and not blocked and start_after <= now()
    order by priority desc, created_on, id limit $limit for update skip locked)
  delete from pgboss.job_common j using due where j.name = due.name and j.id = due.id returning (j.data->>'thread_id')::uuid as thread_id`;

/** Returns the statement that the installed version of pg-boss would send. */
async function ownInsert(boss: PgBoss): Promise<string> {
  let seen = '';
  const executeSql = (text: string): Promise<{ rows: never[] }> => {
    seen = text;
    return Promise.resolve({ rows: [] });
  };
  await boss.insert(QUEUE, [{ data: {} }], { db: { executeSql } });
  if (!/^\s*insert into/i.test(seen) || !seen.includes('$1'))
    throw new StartError('This version of pg-boss writes jobs in a way this server does not know.');
  return seen;
}
