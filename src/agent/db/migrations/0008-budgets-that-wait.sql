-- The budgets that the deployments of a tenant share, by the last word of the platform.
create table gx.tenant_budget (
  name text primary key,
  word jsonb not null,
  heard_at timestamptz not null default now()
);

-- The least amount that a budget has refused, where runs of a spent budget stay in the queue.
alter table gx.budget_account add column refused bigint;

-- Runs that a spent budget keeps in the queue, and when they were due. Until the budget lets them go, they are due
-- when its window is over.
create table gx.budget_queued (
  run_id uuid primary key references gx.run on delete cascade,
  budget text not null,
  scope text not null,
  since timestamptz not null,
  due_at timestamptz not null
);
create index budget_queued_account on gx.budget_queued (budget, scope, since);

-- As before, for budgets of time and of tenants, too. Time has passed, whether the call may begin or not: its amount is
-- spent at once. The bound of a `external` budget is the platform's, which may also be lower than the last one.
create or replace function gx.admit_call(run uuid, call text, asked jsonb) returns jsonb language plpgsql as $$
declare
  one record;
  account gx.budget_account;
  begins timestamptz;
  ends timestamptz;
  bound bigint;
  passed jsonb := '[]';
begin
  for one in select * from jsonb_to_recordset(asked) as a (budget text, scope text, unit text, span text, zone text,
      hard bigint, soft bigint, amount bigint, certain boolean, external boolean, waits boolean) order by budget, scope
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
    if one.unit = 'seconds' then
      update gx.budget_account a set spent = a.spent + one.amount
        where a.budget = one.budget and a.scope = one.scope and a.since = begins returning * into account;
    end if;
    bound := case when one.external then coalesce(account.raised, one.hard)
      when one.hard is not null then greatest(one.hard, account.raised) end;
    if bound is not null and (case when one.unit = 'seconds' then account.spent >= bound
      else not (one.certain and one.amount = 0) and account.spent + account.held + one.amount > bound
        and not (not one.certain and account.held = 0 and account.spent < bound) end)
    then
      if one.waits then
        update gx.budget_account a set refused = greatest(1, least(a.refused, one.amount))
          where a.budget = one.budget and a.scope = one.scope and a.since = begins;
      end if;
      return jsonb_build_object('refused', jsonb_build_object('budget', one.budget, 'scope', one.scope,
        'since', case when one.span is not null then to_jsonb(begins) end, 'ends_at', to_jsonb(ends),
        'spent', account.spent, 'hard', bound), 'warned', passed);
    end if;
    if one.soft is not null and not account.warned and account.spent + account.held
      + (case when one.unit = 'seconds' then 0 else one.amount end) > one.soft
    then
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
    update gx.budget_account a set warned = a.warned or passed ? one.budget,
        held = a.held + case when one.unit = 'seconds' then 0 else one.amount end
      where a.budget = one.budget and a.scope = one.scope and a.since = begins;
    if one.unit <> 'seconds' then
      insert into gx.budget_hold (run_id, call_id, budget, scope, since, unit, amount)
        values (run, call, one.budget, one.scope, begins, one.unit, one.amount) on conflict do nothing;
    end if;
  end loop;
  return jsonb_build_object('warned', passed);
end $$;
