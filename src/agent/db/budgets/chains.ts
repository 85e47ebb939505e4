import type { RunBudget } from '../../../schema/agent/budget.ts';
import type { Db } from '../base/pool.ts';

/* This file keeps where the budgets of runs stand between them: a run that goes on spends from those before it. */

/** The sums of all runs since an input. Amounts are whole parts of the units. */
export type ChainState = {
  /** The budget that the input came with. */
  caller?: RunBudget | undefined;
  spent: Record<string, number>;
  /** Budget -> the bound that it was raised to. */
  raised: Record<string, number>;
  /** Whether somebody lets models without a price be called. */
  unpriced?: boolean;
  /** Whether the open question is about a model without a price. */
  asks_unpriced?: boolean | undefined;
};

/** The question of a budget that a thread waits for. */
export type AskedBudget = {
  question_id: string;
  budget: string;
  scope: string;
  /** Null where the budget has no windows. */
  since: string | null;
  hard: number;
};

/** Returns the state of the thread's chain of runs. */
export async function loadChain(
  db: Db,
  threadId: string,
): Promise<{ state: ChainState; asked: AskedBudget | undefined } | undefined> {
  const [row] = await db.query<
    { state: ChainState } & { [K in keyof AskedBudget]: AskedBudget[K] | null }
  >({
    name: 'budget_chain',
    text: `select state, question_id, budget, scope, case when isfinite(since) then since end as since, hard::float8 as hard
      from gx.budget_chain where thread_id = $1`,
    values: [threadId],
  });
  if (row === undefined) return undefined;
  const { state, ...asked } = row;
  return { state, asked: asked.question_id === null ? undefined : (asked as AskedBudget) };
}

/** Writes the state of a chain whose thread is still there. */
export async function saveChain(
  db: Db,
  threadId: string,
  { state, asked }: { state: ChainState; asked: AskedBudget | undefined },
): Promise<void> {
  await db.query({
    name: 'budget_chain_save',
    text: `insert into gx.budget_chain (thread_id, state, question_id, budget, scope, since, hard)
      select t.thread_id, $2::text::jsonb, $3, $4, $5, case when $3::text is not null then coalesce($6::timestamptz, '-infinity') end, $7
        from gx.thread t where t.thread_id = $1
      on conflict (thread_id) do update set state = excluded.state, question_id = excluded.question_id,
        budget = excluded.budget, scope = excluded.scope, since = excluded.since, hard = excluded.hard, asked_at = now(), goes_on = true`,
    values: [
      threadId,
      JSON.stringify(state),
      asked?.question_id ?? null,
      asked?.budget ?? null,
      asked?.scope ?? null,
      asked?.since ?? null,
      asked?.hard ?? null,
    ],
  });
}

export async function deleteChain(db: Db, threadId: string): Promise<void> {
  await db.query({
    name: 'budget_chain_delete',
    text: 'delete from gx.budget_chain where thread_id = $1',
    values: [threadId],
  });
}

/** Returns the sums of the recorded calls of a run: those of attempts whose worker is gone. */
export async function loadRecordedSpending(
  db: Db,
  runId: string,
): Promise<{ usd: number; tokens: number; calls: number }> {
  const [row] = await db.query<{ usd: number; tokens: number; calls: number }>({
    name: 'budget_recorded',
    text: `select coalesce(sum(cost_nano), 0)::float8 as usd,
        coalesce(sum(greatest(0, input - cache_read)::bigint + output), 0)::float8 as tokens,
        (count(*) filter (where not cached))::int as calls
      from gx.model_call where run_id = $1`,
    values: [runId],
  });
  return row!;
}

/** A thread whose question is answered by the budget itself: it was raised, or begins again. */
export type ReleasedThread = { thread_id: string; question_id: string };

/** Returns threads that need wait no longer. */
export function loadReleasedThreads(db: Db, limit: number): Promise<ReleasedThread[]> {
  return db.query<ReleasedThread>({
    name: 'budget_released',
    text: `select c.thread_id, c.question_id from gx.budget_chain c join gx.budget_account a using (budget, scope, since)
      join gx.thread t using (thread_id)
      where c.question_id is not null and c.goes_on and t.status = 'interrupted' and (a.ends_at <= now() or a.raised > c.hard)
        and not exists (select 1 from gx.run r where r.thread_id = c.thread_id and r.status in ('pending', 'running'))
      order by c.asked_at limit $1`,
    values: [limit],
  });
}
