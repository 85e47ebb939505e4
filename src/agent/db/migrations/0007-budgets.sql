-- A user who was erased may have left several rows of nobody for one key of a day. They become one.
with gone as (delete from gx.usage_day where user_id is null returning *)
insert into gx.usage_day select day, assistant_id, graph_id, null, revision, provider, model, sum(calls), sum(failed),
    sum(cached), sum(unreported), sum(unpriced), sum(input), sum(output), sum(cache_read), sum(cache_write),
    sum(reasoning), sum(cost_nano)
  from gone group by day, assistant_id, graph_id, revision, provider, model;

-- What is spent of budgets that several runs share, in each window. Amounts are whole parts of the unit: billionths of
-- a US dollar, tokens, or calls.
create table gx.budget_account (
  -- The source of the budget and its name.
  budget text not null,
  -- Whose it is: a thread, an assistant, a user, or empty for all.
  scope text not null,
  -- The beginning and the end of the window. A budget without windows has one from the beginning of time.
  since timestamptz not null,
  ends_at timestamptz,
  unit text not null,
  spent bigint not null default 0,
  -- What the calls under way may take.
  held bigint not null default 0,
  -- The bound that somebody has raised it to.
  raised bigint,
  -- Whether the soft bound of this window was passed.
  warned boolean not null default false,
  primary key (budget, scope, since)
);

-- What one call under way may take of a budget. Its end, or that of its run, removes it.
create table gx.budget_hold (
  run_id uuid not null,
  call_id text not null,
  budget text not null,
  scope text not null,
  since timestamptz not null,
  unit text not null,
  amount bigint not null,
  primary key (run_id, call_id, budget)
);

-- Where the budgets of a thread's last input stand while it waits, and the question of a budget that it waits for.
create table gx.budget_chain (
  thread_id uuid primary key references gx.thread on delete cascade,
  state jsonb not null,
  question_id text,
  budget text,
  scope text,
  since timestamptz,
  -- The bound that was asked about.
  hard bigint,
  asked_at timestamptz not null default now(),
  -- Whether the thread goes on by itself once the budget is raised or begins again.
  goes_on boolean not null default true
);
create index budget_chain_question on gx.budget_chain (budget, scope, since) where question_id is not null;

-- Decides whether a call may begin, and holds what it may take: of all its budgets, or of none. Accounts are locked in
-- the order of their keys, as everywhere. Returns the first budget that refuses, and those whose soft bound is passed.
create function gx.admit_call(run uuid, call text, asked jsonb) returns jsonb language plpgsql as $$
declare
  one record;
  account gx.budget_account;
  begins timestamptz;
  ends timestamptz;
  bound bigint;
  passed jsonb := '[]';
begin
  for one in select * from jsonb_to_recordset(asked) as a (budget text, scope text, unit text, span text, zone text,
      hard bigint, soft bigint, amount bigint, certain boolean) order by budget, scope
  loop
    begins := '-infinity';
    ends := null;
    if one.span is not null then
      begins := date_trunc(one.span, now() at time zone one.zone) at time zone one.zone;
      ends := (date_trunc(one.span, now() at time zone one.zone) + ('1 ' || one.span)::interval) at time zone one.zone;
    end if;
    insert into gx.budget_account (budget, scope, since, ends_at, unit) values (one.budget, one.scope, begins, ends, one.unit)
      on conflict do nothing;
    select * into account from gx.budget_account a
      where a.budget = one.budget and a.scope = one.scope and a.since = begins for no key update;
    bound := case when one.hard is not null then greatest(one.hard, account.raised) end;
    if bound is not null and not (one.certain and one.amount = 0) and account.spent + account.held + one.amount > bound
      and not (not one.certain and account.held = 0 and account.spent < bound)
    then
      return jsonb_build_object('refused', jsonb_build_object('budget', one.budget, 'scope', one.scope,
        'since', case when one.span is not null then to_jsonb(begins) end, 'ends_at', to_jsonb(ends),
        'spent', account.spent, 'hard', bound), 'warned', passed);
    end if;
    if one.soft is not null and not account.warned and account.spent + account.held + one.amount > one.soft then
      passed := passed || to_jsonb(one.budget);
    end if;
  end loop;
  for one in select * from jsonb_to_recordset(asked) as a (budget text, scope text, unit text, span text, zone text,
      amount bigint) order by budget, scope
  loop
    begins := '-infinity';
    if one.span is not null then
      begins := date_trunc(one.span, now() at time zone one.zone) at time zone one.zone;
    end if;
    update gx.budget_account a set held = a.held + one.amount, warned = a.warned or passed ? one.budget
      where a.budget = one.budget and a.scope = one.scope and a.since = begins;
    insert into gx.budget_hold (run_id, call_id, budget, scope, since, unit, amount)
      values (run, call, one.budget, one.scope, begins, one.unit, one.amount) on conflict do nothing;
  end loop;
  return jsonb_build_object('warned', passed);
end $$;
