create table gx.assistant (
  assistant_id uuid primary key,
  graph_id text not null,
  name text not null,
  description text,
  config jsonb not null default '{}',
  context jsonb not null default '{}',
  metadata jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index assistant_metadata on gx.assistant using gin (metadata jsonb_path_ops);
create index assistant_created on gx.assistant (created_at desc);

create table gx.assistant_version (
  assistant_id uuid not null references gx.assistant on delete cascade,
  version integer not null,
  graph_id text not null,
  name text not null,
  description text,
  config jsonb not null,
  context jsonb not null,
  metadata jsonb not null,
  created_at timestamptz not null default now(),
  primary key (assistant_id, version)
);

-- "busy" is not stored: it is the existence of an unfinished run. status is what a thread rests in.
create table gx.thread (
  thread_id uuid primary key,
  status text not null default 'idle' check (status in ('idle', 'interrupted', 'error')),
  metadata jsonb not null default '{}',
  config jsonb not null default '{}',
  "values" jsonb,
  interrupts jsonb not null default '{}',
  error jsonb,
  temporary boolean not null default false,
  remove_after timestamptz,
  ttl jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  state_updated_at timestamptz not null default now()
);
create index thread_metadata on gx.thread using gin (metadata jsonb_path_ops);
create index thread_updated on gx.thread (updated_at desc);
create index thread_created on gx.thread (created_at desc);
create index thread_removable on gx.thread (remove_after) where remove_after is not null;

create table gx.run (
  run_id uuid primary key,
  thread_id uuid not null references gx.thread on delete cascade,
  assistant_id uuid not null,
  graph_id text not null,
  status text not null check (status in ('pending', 'running', 'success', 'error', 'timeout', 'interrupted')),
  metadata jsonb not null default '{}',
  kwargs jsonb not null,
  multitask_strategy text not null,
  temporary boolean not null default false,
  resumable boolean not null default false,
  attempt integer not null default 0,
  lost integer not null default 0,
  worker uuid,
  lease_until timestamptz,
  cancel text check (cancel in ('interrupt', 'rollback')),
  readers uuid[] not null default '{}',
  error jsonb,
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz
);
create index run_thread on gx.run (thread_id, created_at desc);
create index run_waiting on gx.run (due_at, run_id) where status = 'pending';
create index run_unfinished on gx.run (thread_id) where status in ('pending', 'running');
create unique index run_one_per_thread on gx.run (thread_id) where status = 'running';
create index run_leased on gx.run (lease_until) where status = 'running';

-- Events wait here for readers in other processes and for clients that come back; losing them in a crash loses no run.
create unlogged table gx.stream_event (
  run_id uuid not null,
  ms bigint not null,
  seq bigint not null,
  thread_id uuid not null,
  event text not null,
  data text not null,
  expires_at timestamptz not null,
  primary key (run_id, ms, seq)
);
create index stream_event_thread on gx.stream_event (thread_id, ms, seq);
create index stream_event_expiry on gx.stream_event (expires_at);

create table gx.store_item (
  namespace text[] not null,
  key text not null,
  value jsonb not null,
  ttl_minutes double precision,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (namespace, key)
);
create index store_item_value on gx.store_item using gin (value jsonb_path_ops);
create index store_item_expiry on gx.store_item (expires_at) where expires_at is not null;
