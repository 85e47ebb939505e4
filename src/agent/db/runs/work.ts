import type { PinnedWork, QueueWork } from '../../../schema/wire/work-report.ts';
import type { Db } from '../base/pool.ts';
import { PINNED_WORK } from './revisions.ts';
import { isHeld } from './thread-holds.ts';

/** Threads that are counted at most: more workers than that many need, no deployment may have. */
const MOST = 10_000;

/**
 * Returns how the queue stands, in one statement that reads indexes of unfinished runs and of threads that wait for
 * somebody alone. Of a thread's runs one runs at a time, so threads are counted.
 */
export async function queueWork(db: Db, { crons }: { crons: boolean }): Promise<QueueWork> {
  const [row] = await db.query<
    Omit<QueueWork, 'pinned' | 'archive_lag'> & {
      pinned: PinnedWork[] | null;
      archive_lag: number | null;
    }
  >({
    name: 'queue_work',
    text: `with due as (
        select r.thread_id from gx.run r where r.status = 'pending' and r.due_at <= now() order by r.due_at limit ${MOST}),
      free as (
        select distinct d.thread_id from due d
        where not exists (select 1 from gx.run x where x.thread_id = d.thread_id and x.status = 'running')
          and not exists (select 1 from gx.thread b where b.thread_id = d.thread_id and ${isHeld('b')}))
      select (select count(*)::int from free) as due,
        (select count(*)::int from gx.run where status = 'running') as running,
        (select count(*)::int from (select 1 from gx.webhook limit ${MOST}) w) as webhooks,
        (select count(*)::int from (select 1 from gx.thread where status = 'interrupted' limit ${MOST}) i) as interrupted,
        least((select min(due_at) from gx.run where status = 'pending' and due_at > now()),
          (select min(next_run_date) from gx.cron where $1 and enabled and next_run_date is not null)) as next_due,
        -- Only a database whose log is taken closes its segments in time.
        (select extract(epoch from now() - coalesce(last_archived_time, stats_reset))::int from pg_stat_archiver
          where current_setting('archive_timeout') <> '0') as archive_lag,
        ${PINNED_WORK} as pinned`,
    values: [crons],
  });
  const { next_due: next, pinned, archive_lag: lag, ...counts } = row!;
  return {
    ...counts,
    next_due: toIsoTime(next),
    ...(lag !== null && { archive_lag: Math.max(0, lag) }),
    ...(pinned && {
      pinned: pinned.map((work) => ({ ...work, next_due: toIsoTime(work.next_due) })),
    }),
  };
}

const toIsoTime = (time: string | null): string | null =>
  time === null ? null : new Date(time).toISOString();
