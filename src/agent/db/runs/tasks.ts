import type { Run, RunError } from '../../../schema/agent/run.ts';
import { openRuns } from '../fields/run-fields.ts';
import { encodePatterns, buildThreadPermitSql, type Patterns } from '../base/permits.ts';
import type { Database, Db } from '../base/pool.ts';
import { lockActive, RUN_GONE, RUN_STATUS } from './runs.ts';
import { openThreads } from '../fields/thread-fields.ts';
import { buildEndMessagesSql } from '../webhooks/webhooks.ts';

/*
 * A task of another agent is a run, with the runs that answered its questions: each of those comes directly behind the
 * one that asked, and names the first run of the task in its column `webhook`, which no client writes.
 */

/** The last run of a task. `task`: the task's first run, if it is another. `waits`: for answers to `interrupts`. */
export type TaskRun = Run & {
  graph_id: string;
  task: string | null;
  error: RunError | null;
  waits: boolean;
  interrupts: Record<string, unknown>;
};

const LATER = `n.thread_id = r.thread_id and (n.created_at, n.run_id) > (r.created_at, r.run_id)`;
const WAITS = `(r.shown = 'success' and t.status = 'interrupted' and not exists (select 1 from gx.run n where ${LATER}))`;
const IS_LAST = `not coalesce((select n.webhook ? 'task' from gx.run n where ${LATER} order by n.created_at, n.run_id limit 1), false)`;
const FROM = `from (select *, ${RUN_STATUS} as shown from gx.run where not ${RUN_GONE} and not temporary) r join gx.thread t using (thread_id)`;
const FIELDS = `r.run_id, r.thread_id, r.graph_id, r.webhook->>'task' as task, r.shown as status, r.created_at, r.updated_at, r.error, ${WAITS} as waits,
  case when ${WAITS} then t.interrupts else '{}' end as interrupts`;

async function openTaskRuns(db: Db, rows: TaskRun[]): Promise<TaskRun[]> {
  const runs = await openRuns(db, rows);
  const threads = await openThreads(
    db,
    runs.map(({ thread_id, interrupts }) => ({ thread_id, interrupts })),
  );
  return runs.map((run, at) => ({ ...run, ...threads[at]! }));
}

type Owner = { assistant_id: string; seen: Patterns };

/** Returns the last run of a task by its first one; undefined when there is none that may be seen. */
export async function findTask(
  db: Db,
  { thread_id, run_id }: { thread_id: string; run_id: string },
  { assistant_id, seen }: Owner,
): Promise<TaskRun | undefined> {
  const rows = await db.query<TaskRun>({
    name: 'task_get',
    text: `select ${FIELDS} ${FROM}, (select created_at, run_id from gx.run where run_id = $2 and thread_id = $1 and assistant_id = $3
          and not coalesce(webhook ? 'task', false)) f
      where r.thread_id = $1 and r.assistant_id = $3 and (r.created_at, r.run_id) >= (f.created_at, f.run_id) and ${IS_LAST}
        and ${buildThreadPermitSql('r.thread_id', '$4')} order by r.created_at, r.run_id limit 1`,
    values: [thread_id, run_id, assistant_id, encodePatterns(seen)],
  });
  return (await openTaskRuns(db, rows))[0];
}

/** Returns the run with which a context ends; undefined when it has none that may be seen. */
export async function loadLastTask(
  db: Db,
  thread_id: string,
  { assistant_id, seen }: Owner,
): Promise<TaskRun | undefined> {
  const rows = await db.query<TaskRun>({
    name: 'task_last',
    text: `select ${FIELDS} ${FROM} where r.thread_id = $1 and r.assistant_id = $2 and ${buildThreadPermitSql('r.thread_id', '$3')}
      and not exists (select 1 from gx.run n where ${LATER}) limit 1`,
    values: [thread_id, assistant_id, encodePatterns(seen)],
  });
  return (await openTaskRuns(db, rows))[0];
}

/** The states of tasks by which SQL can distinguish them. */
export type TaskWhere = {
  thread_id: string | undefined;
  /** The statuses of runs of such tasks, and whether they wait. */
  state: { statuses: Run['status'][]; waits: boolean | undefined } | undefined;
  changedSince: string | undefined;
};

/** Where a page begins: behind the task that was changed then, by its last run. */
export type TaskCursor = { updated_at: string; run_id: string };

/** Tasks that are counted: each takes a look at the runs behind its own. */
const MOST_COUNTED = 1000;

/** Runs by the columns of their own row. The rest is asked of one after the other, until there are enough. */
const ROWS = `select * from (select run_id, thread_id, assistant_id, created_at, updated_at, ${RUN_STATUS} as shown
      from gx.run where not ${RUN_GONE} and not temporary) r
    where r.assistant_id = $1 and ($2::uuid is null or r.thread_id = $2) and ($3::text[] is null or r.shown = any($3))
      and ($5::timestamptz is null or r.updated_at >= $5) and ${buildThreadPermitSql('r.thread_id', '$6')}
      and ($4::boolean is not true or exists (select 1 from gx.thread t where t.thread_id = r.thread_id and t.status = 'interrupted'))`;
const ARE_TASKS = `${IS_LAST} and ($4::boolean is null or $4 = (r.shown = 'success'
      and (select t.status from gx.thread t where t.thread_id = r.thread_id) = 'interrupted'
      and not exists (select 1 from gx.run n where ${LATER})))`;

/** Returns tasks, those that changed last first, and how many there are in all, which is counted up to a thousand. */
export async function listTasks(
  db: Db,
  { thread_id, state, changedSince }: TaskWhere,
  { assistant_id, seen, after, limit }: Owner & { after: TaskCursor | undefined; limit: number },
): Promise<{ tasks: TaskRun[]; total: number }> {
  const values = [
    assistant_id,
    thread_id ?? null,
    state?.statuses ?? null,
    state?.waits ?? null,
    changedSince ?? null,
    encodePatterns(seen),
  ];
  const [count] = await db.query<{ total: number }>({
    name: 'task_count',
    text: `select count(*) as total from (select 1 from (${ROWS} offset 0) r where ${ARE_TASKS} limit ${MOST_COUNTED}) c`,
    values,
  });
  const rows = await db.query<TaskRun>({
    name: 'task_list',
    text: `with page as materialized (
        select run_id from (${ROWS} and ($7::timestamptz is null or (r.updated_at, r.run_id) < ($7, $8::uuid))
          order by r.updated_at desc, r.run_id desc offset 0) r where ${ARE_TASKS} limit $9)
      select ${FIELDS} ${FROM} where r.run_id = any(array(select run_id from page)) order by r.updated_at desc, r.run_id desc`,
    values: [...values, after?.updated_at ?? null, after?.run_id ?? null, limit],
  });
  return { tasks: await openTaskRuns(db, rows), total: count!.total };
}

/** Says whether a run waits for an answer, and nothing came behind it. The thread is held, so that it stays so. */
export async function isStillWaiting(tx: Db, runId: string): Promise<boolean> {
  const rows = await tx.query({
    name: 'task_waits',
    text: `select 1 from (select *, status as shown from gx.run) r join gx.thread t using (thread_id) where r.run_id = $1 and ${WAITS}`,
    values: [runId],
  });
  return rows.length > 0;
}

/**
 * Ends a task that waits for an answer as if it had been stopped, and lets its thread rest. Does nothing where the
 * answer has come meanwhile. Returns true where a message about it is to be sent.
 */
export function giveUpTask(db: Database, { thread_id, run_id }: TaskRun): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockActive(tx, thread_id);
    if (!(await isStillWaiting(tx, run_id))) return false;
    const rows = await tx.query({
      name: 'task_give_up',
      text: `with r as (update gx.run set status = 'interrupted', updated_at = now() where run_id = $1 returning *),
        t as (update gx.thread set status = 'idle', interrupts = '{}', updated_at = now() where thread_id = $2)
        ${buildEndMessagesSql({ from: 'r', status: 'r.status', webhooks: 'false' })}`,
      values: [run_id, thread_id],
    });
    return rows.length > 0;
  });
}
