import type { Db } from './pool.ts';

export type QueueStats = {
  n_pending: number;
  n_running: number;
  pending_runs_wait_time_max_secs: number | null;
  pending_runs_wait_time_med_secs: number | null;
  pending_unblocked_runs_wait_time_max_secs: number | null;
  n_webhooks: number;
};

/** Returns how the queue stands in the whole deployment. */
export async function queueStats(db: Db): Promise<QueueStats> {
  const [row] = await db.query<QueueStats>({
    text: `with waiting as (
        select extract(epoch from now() - due_at)::float8 as seconds,
          exists (select 1 from gx.run x where x.thread_id = r.thread_id and x.status = 'running') as blocked
        from gx.run r where status = 'pending' and due_at <= now())
      select (select count(*) from gx.run where status = 'pending') as n_pending,
        (select count(*) from gx.run where status = 'running') as n_running,
        (select max(seconds) from waiting) as pending_runs_wait_time_max_secs,
        (select percentile_cont(0.5) within group (order by seconds) from waiting) as pending_runs_wait_time_med_secs,
        (select max(seconds) from waiting where not blocked) as pending_unblocked_runs_wait_time_max_secs,
        (select count(*) from gx.webhook) as n_webhooks`,
  });
  return row!;
}

export type DatabaseStats = {
  /** Connections of all clients, in any database of the server, because they share the maximum. */
  connections: number;
  connections_max: number;
  /** Covers the transactions that this login may see: its own, and its owner's. */
  oldest_transaction_seconds: number;
  rows_live: number;
  rows_dead: number;
  size_bytes: number;
  deadlocks: number;
  /** 1 while the database takes no writes unless a session insists. */
  read_only: number;
};

/**
 * Returns how the database does, in one statement that any login may send. A login sees its own sessions, but not as
 * the owner whose role it acts in (docs/how-to/databases.md, "Change the password"), so it gives up that role for as
 * long as the statement takes.
 */
export async function loadDatabaseStats(db: Db): Promise<DatabaseStats> {
  const [row] = await db.query<DatabaseStats>({
    text: `with itself as materialized (select set_config('role', 'none', true) as role),
      sessions as materialized (
        select a.* from itself, pg_stat_get_activity(case when itself.role is null then 0 end) a where backend_type = 'client backend'),
      tables as (select sum(n_live_tup)::int8 as live, sum(n_dead_tup)::int8 as dead from pg_stat_user_tables)
      select (select count(*) from sessions) as connections, current_setting('max_connections')::int as connections_max,
        (select coalesce(extract(epoch from now() - min(xact_start)), 0)::float8 from sessions where pid <> pg_backend_pid()) as oldest_transaction_seconds,
        coalesce(live, 0) as rows_live, coalesce(dead, 0) as rows_dead, pg_database_size(current_database()) as size_bytes, deadlocks,
        current_setting('default_transaction_read_only')::boolean::int as read_only
      from tables, pg_stat_database where datname = current_database()`,
  });
  return row!;
}

/** Checks that records and the queue's tickets can be read. */
export async function checkQueue(db: Db): Promise<void> {
  await db.query({ name: 'check', text: 'select 1 from gx.migration m, pgboss.queue q limit 1' });
}
