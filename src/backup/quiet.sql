-- Makes a copy of a deployment's data do nothing that the original does. It runs in the transaction that restores.

-- Crons are paused. A client enables each again.
update gx.cron set enabled = false, updated_at = now() where enabled;

-- Ends that were still to be sent are not, and no run or task has anybody to tell any more.
delete from gx.webhook;
update gx.run set webhook = null, webhook_status = null where webhook is not null;

-- Runs that waited or were under way are over. Their threads keep the state and the questions that they had.
update gx.run
  set status = 'interrupted', updated_at = now(), ended_at = now(), worker = null, lease_until = null, begun = null, cancel = null
  where status in ('pending', 'running');
do $do$ begin
  if to_regclass('pgboss.job') is not null then delete from pgboss.job; end if;
end $do$;

-- Threads that wait for a budget go on when somebody answers, and not by themselves. Nothing is under way.
do $do$ begin
  if to_regclass('gx.budget_chain') is not null then
    update gx.budget_chain set goes_on = false where goes_on;
    delete from gx.budget_hold;
    update gx.budget_account set held = 0 where held <> 0;
  end if;
  -- A copy has a tenant of its own, and no run in its queue.
  if to_regclass('gx.tenant_budget') is not null then
    delete from gx.tenant_budget;
    delete from gx.budget_queued;
  end if;
end $do$;

-- Threads of their own that runs had go, as at the end of each; no worker holds anything any more.
update gx.thread set remove_after = now() where temporary;
update gx.thread set held_until = null, holder = null where held_until is not null;
delete from gx.worker;
