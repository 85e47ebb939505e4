-- A cron makes runs by a schedule. Whoever removes a thread removes its crons (src/agent/db/threads.ts): a foreign key would cost every end of
-- a run on a thread of its own. owner is the user that its runs act for, as the handlers of auth.path let it in.
create table gx.cron (
  cron_id uuid primary key,
  assistant_id uuid not null references gx.assistant on delete cascade,
  thread_id uuid,
  user_id text,
  owner jsonb,
  schedule text not null,
  timezone text,
  end_time timestamptz,
  next_run_date timestamptz,
  enabled boolean not null default true,
  on_run_completed text check (on_run_completed in ('delete', 'keep')),
  payload jsonb not null,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index cron_due on gx.cron (next_run_date) where enabled;
create index cron_thread on gx.cron (thread_id) where thread_id is not null;
create index cron_assistant on gx.cron (assistant_id);
create index cron_created on gx.cron (created_at desc);
create index cron_metadata on gx.cron using gin (metadata jsonb_path_ops);
