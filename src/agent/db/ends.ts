import type { RunStatus } from '../../schema/run.ts';
import { fieldText, toField } from './json-field.ts';
import type { Db } from './pool.ts';

/* This file writes the end of a run that its worker has carried to its end. */

export type FinishRun = {
  run_id: string;
  worker: string;
  status: RunStatus;
  error: object | null;
  thread: { status: 'idle' | 'interrupted' | 'error'; values: string | undefined; interrupts: string | undefined };
};

/** `status`: what the run ended with. */
export type Finished = { readers: string[]; more: boolean; status: RunStatus };

/**
 * What became of an end: it was written, or the run is to be rolled back, or (undefined) the run is another worker's.
 */
export type WrittenEnd = Finished | 'to-roll-back' | undefined;

/** Says whether another run of the thread is due. */
const MORE = `exists (select 1 from gx.run p where p.thread_id = r.thread_id and p.status = 'pending' and p.due_at <= now()) as more`;

/**
 * Ends runs of one worker and writes down where their threads rest, in one statement. A cancel that was answered before
 * has the last word, because clients were told that the run is interrupted, or gone. Rows are locked as everywhere,
 * threads before runs and each in the order of their ids, so that an admission on the thread and an end never wait for
 * each other.
 */
export async function finishRuns(db: Db, runs: FinishRun[]): Promise<WrittenEnd[]> {
  const rows = await db.query<Finished & { run_id: string; cancel: 'interrupt' | 'rollback' | null }>({
    name: 'run_finish',
    text: `with asked as materialized (
        select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
          as f (run_id, worker, status, error, rest, "values", interrupts)),
      threads as materialized (
        select 1 from gx.thread where thread_id in (select thread_id from gx.run where run_id = any($1)) order by thread_id for no key update),
      runs as materialized (
        select r.run_id, r.worker, r.status, r.cancel from gx.run r
        where run_id = any($1) and (select count(*) from threads) >= 0 order by run_id for no key update),
      f as materialized (
        select run_id, cancel, "values", interrupts, case when cancel is null then f.status else 'interrupted' end as status,
          case when cancel is null then error::jsonb end as error,
          case when cancel is not null and rest = 'error' then 'idle' else rest end as rest
        from asked f join runs using (run_id, worker) where runs.status = 'running'),
      r as (
        update gx.run r set status = f.status, error = f.error, updated_at = now(), ended_at = now(), lease_until = null
        from f where r.run_id = f.run_id and f.cancel is distinct from 'rollback' returning r.run_id, r.thread_id, r.readers, r.status),
      t as (
        update gx.thread t set status = f.rest, "values" = coalesce(f."values"::jsonb, t."values"),
          interrupts = coalesce(f.interrupts::jsonb, t.interrupts), error = f.error, updated_at = now(), state_updated_at = now()
        from r join f using (run_id) where t.thread_id = r.thread_id)
      select f.run_id, f.cancel, r.readers, r.status,
        ${MORE}
      from f left join r using (run_id)`,
    values: [
      runs.map(({ run_id }) => run_id),
      runs.map(({ worker }) => worker),
      runs.map(({ status }) => status),
      runs.map(({ error }) => toField(error)),
      runs.map(({ thread }) => thread.status),
      runs.map(({ thread }) => (thread.values === undefined ? null : fieldText(thread.values))),
      runs.map(({ thread }) => (thread.interrupts === undefined ? null : fieldText(thread.interrupts))),
    ],
  });
  const found = new Map(
    rows.map(({ run_id, cancel, ...finished }) => [run_id, cancel === 'rollback' ? ('to-roll-back' as const) : finished]),
  );
  return runs.map(({ run_id }) => found.get(run_id));
}

/** Returns an end that the worker wrote before without getting the answer; undefined where there is none. */
export async function finishedBefore(db: Db, { run_id, worker }: Pick<FinishRun, 'run_id' | 'worker'>): Promise<Finished | undefined> {
  const [run] = await db.query<Finished>({
    text: `select readers, status,
        ${MORE}
      from gx.run r where run_id = $1 and worker = $2 and ended_at is not null`,
    values: [run_id, worker],
  });
  return run;
}
