import type { Db } from '../base/pool.ts';

/* This file keeps the sums of budgets that several runs share, and the most that their calls under way may take. */

/** A call that asks one budget. Amounts are whole parts of its unit. */
export type AskedAccount = {
  budget: string;
  scope: string;
  unit: string;
  span: string | undefined;
  zone: string;
  hard: number | undefined;
  soft: number | undefined;
  /** Milliseconds that have passed are spent at once; of other units it is the most that the call takes. */
  amount: number;
  certain: boolean;
  /** Whether `hard` is the bound of a new window alone, and the account has the present one. */
  external: boolean;
  /** Whether new runs stay in the queue once it is spent. */
  waits: boolean;
};

/** The budget that refuses a call. `since` is null where it has no windows. */
export type RefusingAccount = {
  budget: string;
  scope: string;
  since: string | null;
  ends_at: string | null;
  spent: number;
  hard: number;
};

/** `warned`: the budgets whose soft bound this call passes, the first one in its window. */
export type AccountAnswer = { refused?: RefusingAccount; warned: string[] };

/** Holds the most that a call may take of all its budgets, or of none where one refuses it. */
export async function holdAmounts(
  db: Db,
  { run_id, call_id, asked }: { run_id: string; call_id: string; asked: AskedAccount[] },
): Promise<AccountAnswer> {
  const [row] = await db.query<{ answer: AccountAnswer }>({
    name: 'budget_admit',
    text: 'select gx.admit_call($1, $2, $3::text::jsonb) as answer',
    values: [run_id, call_id, JSON.stringify(asked)],
  });
  return row!.answer;
}

/** Adds time that has passed to budgets of time, as a call would, though none is asked for. Nothing refuses it. */
export async function spendTime(db: Db, asked: AskedAccount[]): Promise<void> {
  const [run_id, call_id] = ['00000000-0000-0000-0000-000000000000', ''];
  await holdAmounts(db, {
    run_id,
    call_id,
    asked: asked.map((one) => ({ ...one, hard: undefined, external: false })),
  });
}

/** Locks the accounts of the sums `s` in the order of their keys, and changes them by `change`. */
const buildAccountChange = (change: string): string => `l as materialized (
    select a.budget, a.scope, a.since from s join gx.budget_account a using (budget, scope, since)
      order by 1, 2, 3 for no key update of a)
  update gx.budget_account a set ${change} from s join l using (budget, scope, since)
    where (a.budget, a.scope, a.since) = (s.budget, s.scope, s.since)`;

/** The amount that a call `c` has taken of the budget of a hold `h`. One that is unknown is the estimate, not zero. */
const TAKEN = `case when c.cached then 0 when h.unit = 'calls' then 1
    when not c.reported and c.status = 'error' then 0
    when h.unit = 'tokens' then case when c.reported then greatest(0, c.input - c.cache_read)::bigint + c.output else h.amount end
    else coalesce(c.cost_nano, case when c.reported then 0 else h.amount end) end`;

/** Has budgets count the calls `c`, which a statement has just stored. */
export const SETTLE_CALLS = `h as (
    delete from gx.budget_hold h using c where h.run_id = c.run_id and h.call_id = c.call_id
    returning h.budget, h.scope, h.since, h.amount, ${TAKEN} as taken),
  s as (select budget, scope, since, sum(amount)::bigint as amount, sum(taken)::bigint as taken from h group by 1, 2, 3),
  ${buildAccountChange('held = a.held - s.amount, spent = a.spent + s.taken')}`;

const GIVE_BACK = `s as (select budget, scope, since, sum(amount)::bigint as amount from h group by 1, 2, 3),
  ${buildAccountChange('held = a.held - s.amount')}`;

/** Removes the holds of a run's calls whose end nobody has heard. */
export async function releaseHolds(db: Db, runId: string): Promise<void> {
  await db.query({
    name: 'budget_release',
    text: `with h as (delete from gx.budget_hold where run_id = $1 returning *), ${GIVE_BACK}`,
    values: [runId],
  });
}

/** Removes the holds of runs that are not under way: their worker is gone. */
export async function releaseLostHolds(db: Db): Promise<void> {
  await db.query({
    name: 'budget_release_lost',
    text: `with h as (delete from gx.budget_hold h
      where not exists (select 1 from gx.run r where r.run_id = h.run_id and r.status = 'running') returning *), ${GIVE_BACK}`,
    values: [],
  });
}

/** The key of an account. `since` is null where it has no windows. */
export type AccountKey = { budget: string; scope: string; since: string | null };

const SINCE = `coalesce($3::timestamptz, '-infinity')`;

/** The new bound of a budget, and the one that it takes the place of. `hard` is the bound that its owner gave it. */
export type BoundRaise = { key: AccountKey; from: number; to: number; hard: number };

/** Raises the bound of a budget. Returns whether nobody else had changed it meanwhile. */
export async function raiseBound(
  tx: Db,
  { key: { budget, scope, since }, from, to, hard }: BoundRaise,
): Promise<boolean> {
  const rows = await tx.query({
    name: 'budget_raise',
    text: `update gx.budget_account set raised = $5 where budget = $1 and scope = $2 and since = ${SINCE}
      and greatest(raised, $6::bigint) = $4 returning 1`,
    values: [budget, scope, since, from, to, hard],
  });
  return rows.length > 0;
}

/** The sums of a budget in its present window, and how many threads wait for it. */
export type AccountState = {
  scope: string;
  since: string | null;
  ends_at: string | null;
  spent: number;
  held: number;
  raised: number | null;
  waiting: number;
  queued: number;
};

/** Returns the present accounts of a budget, those that have spent most first. */
export function listAccounts(
  db: Db,
  budget: string,
  { scope, limit }: { scope: string | undefined; limit: number },
): Promise<AccountState[]> {
  return db.query<AccountState>({
    name: 'budget_accounts',
    text: `select a.scope, case when isfinite(a.since) then a.since end as since, a.ends_at, a.spent::float8 as spent,
        a.held::float8 as held, a.raised::float8 as raised, (select count(*)::int from gx.budget_chain c
          where c.question_id is not null and (c.budget, c.scope, c.since) = (a.budget, a.scope, a.since)) as waiting,
        (select count(*)::int from gx.budget_queued q where (q.budget, q.scope, q.since) = (a.budget, a.scope, a.since)) as queued
      from gx.budget_account a
      where a.budget = $1 and ($2::text is null or a.scope = $2) and (a.ends_at is null or a.ends_at > now())
      order by a.spent desc, a.scope limit $3`,
    values: [budget, scope ?? null, limit],
  });
}

/** Removes a user's own accounts. */
export async function forgetAccounts(db: Db, user: string): Promise<void> {
  await db.query({
    text: `delete from gx.budget_account where scope = $1`,
    values: [user],
  });
}

/** The bound of an account `a`. `hard` and `external` are those of its budget. */
const buildBoundSql = (hard: string, external: string): string =>
  `case when ${external} then coalesce(a.raised, ${hard}) else greatest(a.raised, ${hard}) end`;

/** A budget that may be spent, and whether the platform sets its bound. */
type BoundedAccount = { budget: string; scope: string; hard: number; external: boolean };

/** Returns the end of a present window in which a budget is spent, and how much; undefined where it is not spent. */
export async function findSpentWindow(
  db: Db,
  { budget, scope, hard, external }: BoundedAccount,
): Promise<
  { spent: number; hard: number; ends_at: string | null; seconds: number | null } | undefined
> {
  const [row] = await db.query<{
    spent: number;
    hard: number;
    ends_at: string | null;
    seconds: number | null;
  }>({
    name: 'budget_spent',
    text: `select spent::float8 as spent, (${buildBoundSql('$3::bigint', '$4::boolean')})::float8 as hard, ends_at,
        ceil(extract(epoch from ends_at - now()))::int as seconds from gx.budget_account a
      where budget = $1 and scope = $2 and (ends_at is null or ends_at > now()) and spent >= ${buildBoundSql('$3::bigint', '$4::boolean')}
      order by since desc limit 1`,
    values: [budget, scope, hard, external],
  });
  return row;
}

/**
 * The condition that an account `a` pays for no further run: it is spent, or its rest is less than a call that it has
 * refused.
 */
const buildFullSql = (hard: string, external: string): string =>
  `(a.spent >= ${buildBoundSql(hard, external)}
    or coalesce(a.spent + a.held + case when a.unit = 'seconds' then 0 else a.refused end > ${buildBoundSql(hard, external)}, false))`;

/** Days after which a run looks again that waits in the queue for a budget without windows. */
const LOOK_AGAIN_DAYS = 7;

/** A run that a budget keeps in the queue: the seconds until it is due. */
export type QueuedRun = {
  run_id: string;
  thread_id: string;
  revision: string | null;
  after_seconds: number;
};

/**
 * Gives a run back to the queue whose budgets pay for no further one, with all runs of its thread that wait, until the
 * window is over. `attempt` and `worker` are those of the run here. Returns no run where a budget pays for it, or where
 * somebody stops it.
 */
export function queueSpentRun(
  db: Db,
  run: { run_id: string; thread_id: string; worker: string },
  bounds: BoundedAccount[],
): Promise<QueuedRun[]> {
  return db.query<QueuedRun>({
    name: 'budget_queue_run',
    text: `with b as (select * from jsonb_to_recordset($4::text::jsonb) as b (budget text, scope text, hard bigint, external boolean)),
      full_account as (select a.budget, a.scope, a.since, coalesce(a.ends_at, now() + interval '${LOOK_AGAIN_DAYS} days') as until
        from b join gx.budget_account a on a.budget = b.budget and a.scope = b.scope
        where (a.ends_at is null or a.ends_at > now()) and ${buildFullSql('b.hard', 'b.external')} order by a.budget, a.since desc limit 1),
      kept as materialized (select r.run_id, r.due_at, r.status from gx.run r
        where r.thread_id = $2 and exists (select 1 from full_account) and (r.run_id = $1 or (r.status = 'pending' and r.due_at <= now()))
          and exists (select 1 from gx.run x where x.run_id = $1 and x.status = 'running' and x.worker = $3 and x.cancel is null)
        order by r.run_id for no key update of r),
      noted as (insert into gx.budget_queued (run_id, budget, scope, since, due_at)
        select k.run_id, f.budget, f.scope, f.since, k.due_at from kept k, full_account f
        on conflict (run_id) do update set budget = excluded.budget, scope = excluded.scope, since = excluded.since)
      update gx.run r set due_at = f.until, updated_at = now(), status = 'pending', worker = null, lease_until = null,
          begun = null, attempt = r.attempt - case when k.status = 'running' then 1 else 0 end
        from kept k, full_account f where r.run_id = k.run_id
        returning r.run_id, r.thread_id, r.revision, ceil(extract(epoch from f.until - now()))::int as after_seconds`,
    values: [run.run_id, run.thread_id, run.worker, JSON.stringify(bounds)],
  });
}

/**
 * Makes runs due again that waited for a budget which was raised, begins again, or is there no longer: as they were
 * before, in their order. Returns them, at most so many.
 */
export function releaseQueuedRuns(
  db: Db,
  budgets: Omit<BoundedAccount, 'scope'>[],
  limit: number,
): Promise<Omit<QueuedRun, 'after_seconds'>[]> {
  return db.query({
    name: 'budget_release_queued',
    text: `with b as (select * from jsonb_to_recordset($1::text::jsonb) as b (budget text, hard bigint, external boolean)),
      free as (select q.run_id from gx.budget_queued q left join b using (budget)
          left join gx.budget_account a on (a.budget, a.scope, a.since) = (q.budget, q.scope, q.since)
        where b.budget is null or a.budget is null or a.ends_at <= now() or not ${buildFullSql('b.hard', 'b.external')}
        order by q.due_at, q.run_id limit $2),
      l as materialized (select r.run_id, r.status from gx.run r join free using (run_id) order by r.run_id for no key update of r),
      gone as (delete from gx.budget_queued q using l where q.run_id = l.run_id returning q.run_id, q.due_at, l.status)
      update gx.run r set due_at = g.due_at from gone g where r.run_id = g.run_id and g.status = 'pending'
        returning r.run_id, r.thread_id, r.revision`,
    values: [JSON.stringify(budgets), limit],
  });
}
