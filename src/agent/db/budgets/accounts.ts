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
  amount: number;
  certain: boolean;
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
          where c.question_id is not null and (c.budget, c.scope, c.since) = (a.budget, a.scope, a.since)) as waiting
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

/** Returns the end of a present window in which a budget is spent, and how much; undefined where it is not spent. */
export async function findSpentWindow(
  db: Db,
  { budget, scope, hard }: { budget: string; scope: string; hard: number },
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
    text: `select spent::float8 as spent, greatest(raised, $3::bigint)::float8 as hard, ends_at,
        ceil(extract(epoch from ends_at - now()))::int as seconds from gx.budget_account
      where budget = $1 and scope = $2 and (ends_at is null or ends_at > now()) and spent >= greatest(raised, $3::bigint)
      order by since desc limit 1`,
    values: [budget, scope, hard],
  });
  return row;
}
