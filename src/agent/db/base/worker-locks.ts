import { randomBytes } from 'node:crypto';
import type { Db } from './pool.ts';
import type { Session } from './signals.ts';

/* Advisory locks tell the database which workers live, because it frees a lock when its session ends. */

/**
 * A worker, and the lock that its session holds, as decimal text. Each session has a new lock, because the former
 * session of a worker may still hold its own.
 */
export type WorkerLock = { worker: string; lock: string };

/** Milliseconds after which a session that does not answer counts as lost, although nothing reported it. */
const ANSWERS_WITHIN = 10_000;

/** pg also takes the setting with a single statement, but its types know only that of a client. */
type TimedQuery = { text: string; values: unknown[]; query_timeout: number };

async function ask<R extends object>(
  session: Session,
  text: string,
  values: unknown[] = [],
): Promise<R[]> {
  const query: TimedQuery = { text, values, query_timeout: ANSWERS_WITHIN };
  const { rows } = await session.query<R>(query);
  return rows;
}

/** Asks the session for a sign of life; fails when the session is lost. */
export const touch = async (session: Session): Promise<void> =>
  void (await ask(session, 'select 1'));

/**
 * Returns true when the session is the client's own. A pooler hands out its own keys for cancelling statements; those
 * of Postgres name its process.
 */
export async function isDirect(session: Session): Promise<boolean> {
  const [row] = await ask<{ pid: number }>(session, 'select pg_backend_pid() as pid');
  return row?.pid === (session as Session & { processID?: number }).processID;
}

/**
 * Takes a lock for as long as the session lasts; returns undefined where another session holds the lock of that number.
 */
export async function lockSession(
  session: Session,
  worker: string,
): Promise<WorkerLock | undefined> {
  const lock = randomBytes(8).readBigInt64BE().toString();
  const [row] = await ask<{ held: boolean }>(session, 'select pg_try_advisory_lock($1) as held', [
    lock,
  ]);
  return row?.held === true ? { worker, lock } : undefined;
}

/** Says which lock shows that the worker lives. */
export async function announceLock(session: Session, { worker, lock }: WorkerLock): Promise<void> {
  // A full database, which its guard has made read-only, still has room for a row.
  await ask(session, 'set default_transaction_read_only = off');
  const announce =
    'insert into gx.worker (worker, lock) values ($1, $2) on conflict (worker) do update set lock = excluded.lock';
  await ask(session, announce, [worker, lock]);
}

/** Says that this lock no longer shows it: only the lease does. */
export async function deleteWorkerLock(db: Db, { worker, lock }: WorkerLock): Promise<void> {
  await db.query({
    text: 'delete from gx.worker where worker = $1 and lock = $2',
    values: [worker, lock],
  });
}

/**
 * Seconds after which all live workers have a session again when the database has ended all sessions. Each lost session
 * is replaced within about one second.
 */
export const ALL_BACK = 15;

/**
 * Returns the other workers whose lock is free. Returns none where Postgres was just started, because it then has no
 * locks.
 */
export const loadFreeLocks = (session: Session, worker: string): Promise<WorkerLock[]> =>
  ask<WorkerLock>(
    session,
    `select worker, lock from gx.worker
      where worker <> $1 and pg_postmaster_start_time() < now() - $2 * interval '1 second' and pg_try_advisory_xact_lock_shared(lock)`,
    [worker, ALL_BACK],
  );

/** Forgets dead workers that no longer hold a run. Others may send the messages of these at once. */
export async function deleteDeadWorkers(db: Db, locks: WorkerLock[]): Promise<void> {
  await db.query({
    text: `with d as materialized (select * from unnest($1::uuid[], $2::bigint[]) d (worker, lock)),
        due as (update gx.webhook w set due_at = least(due_at, now()), worker = null from d where w.worker = d.worker)
      delete from gx.worker w using d
      where w.worker = d.worker and w.lock = d.lock
        and not exists (select 1 from gx.run r where r.status = 'running' and r.worker = w.worker)`,
    values: [locks.map(({ worker }) => worker), locks.map(({ lock }) => lock)],
  });
}
