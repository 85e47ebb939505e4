-- Whom the end of the run is told: {url, host}. What came of it: {state, attempts, last_error}, null before the first attempt.
alter table gx.run add column webhook jsonb, add column webhook_status jsonb;
-- Ends that are still to be told, written with the ends themselves. A row outlives its run, because a run that is rolled back, or had a thread of its
-- own, is gone by then. While somebody sends it (worker), it is due when that one may be taken for dead.
create table gx.webhook (
  run_id uuid primary key,
  url jsonb not null,
  host text not null,
  message json not null,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  worker uuid,
  created_at timestamptz not null default now()
);
create index webhook_due on gx.webhook (due_at);
