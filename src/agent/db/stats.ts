import type { Db } from './pool.ts';

export type QueueStats = {
  n_pending: number;
  n_running: number;
  pending_runs_wait_time_max_secs: number | null;
  pending_runs_wait_time_med_secs: number | null;
  pending_unblocked_runs_wait_time_max_secs: number | null;
};

/** How the queue stands, in the whole deployment. */
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
        (select max(seconds) from waiting where not blocked) as pending_unblocked_runs_wait_time_max_secs`,
  });
  return row!;
}

/** Whether records and the queue's tickets can be read. */
export async function checkQueue(db: Db): Promise<void> {
  await db.query({ name: 'check', text: 'select 1 from gx.migration m, pgboss.queue q limit 1' });
}
