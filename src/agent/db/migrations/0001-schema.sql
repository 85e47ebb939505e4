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
  -- Of a long state, only its plain fields.
  "values" jsonb,
  interrupts jsonb not null default '{}',
  error jsonb,
  temporary boolean not null default false,
  remove_after timestamptz,
  -- {strategy, ttl} in minutes, from the thread's last change, or from the time at which its older checkpoints were
  -- removed (pruned_at).
  ttl jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  state_updated_at timestamptz not null default now(),
  -- Processes that have a stream of the whole thread open.
  readers uuid[] not null default '{}',
  -- Runs ever put on the thread: whoever adds one sees whether another came in between since it looked.
  runs bigint not null default 0,
  -- The number of the last protocol event that is no longer kept.
  event_seq bigint not null default 0,
  -- A long state as it was written, because Postgres takes long to make jsonb of it. It counts while it is as new as
  -- the state.
  long_values text,
  long_values_at timestamptz,
  -- The end of a long state, where it differs from the one in long_values, of which it keeps the first characters. It
  -- counts while it is as new as the state; long_values_at then stays unchanged.
  long_kept int,
  long_tail text,
  long_tail_at timestamptz,
  -- While a graph answers a change of the thread's state, no run of it begins: until then, and for whom.
  held_until timestamptz,
  holder uuid,
  pruned_at timestamptz
);
alter table gx.thread alter column long_values set storage external;
create index thread_metadata on gx.thread using gin (metadata jsonb_path_ops);
create index thread_updated on gx.thread (updated_at desc);
create index thread_created on gx.thread (created_at desc);
create index thread_removable on gx.thread (remove_after) where remove_after is not null;
-- For searches by fields of the state that are no objects or lists: an index on whole states would cost each run more
-- than all its statements.
create index thread_values on gx.thread using gin (
  jsonb_path_query_array(
    "values", '$.keyvalue() ? (@.value.type() != "object" && @.value.type() != "array")', '{}', true
  ) jsonb_path_ops
);
-- Most threads are idle, and found by time alone.
create index thread_status on gx.thread (status, updated_at desc) where status <> 'idle';
create index thread_state_updated on gx.thread (state_updated_at desc);
-- Times are compared in UTC, because only those without a zone make an index.
create index thread_expiry on gx.thread (
  ((greatest(updated_at, state_updated_at, pruned_at) at time zone 'UTC') + (ttl->>'ttl')::float8 * interval '1 minute')
) where ttl is not null;

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
  ended_at timestamptz,
  -- Its thread ended under it, with others in it: until it is known who was to blame, it runs in a thread of its own.
  alone boolean not null default false,
  -- False: its worker has claimed it and has not begun yet. Null while nobody has it.
  begun boolean,
  -- Who hears of its end: {url, host}.
  webhook jsonb,
  -- How that went: {state, attempts, last_error}, null before the first attempt.
  webhook_status jsonb
);
create index run_thread on gx.run (thread_id, created_at desc);
create index run_waiting on gx.run (due_at, run_id) where status = 'pending';
create index run_unfinished on gx.run (thread_id) where status in ('pending', 'running');
-- Running runs are few, and this index has them all: one on the lease would cost each start, each heartbeat and each
-- end of a run.
create unique index run_one_per_thread on gx.run (thread_id) where status = 'running';

-- Each worker holds an advisory lock for as long as it lives: one whose lock is free is dead.
create table gx.worker (
  worker uuid primary key,
  lock bigint not null
);

-- Events wait here for readers in other processes and for clients that come back; losing them in a crash loses no run.
create unlogged table gx.stream_event (
  run_id uuid not null,
  ms bigint not null,
  seq bigint not null,
  thread_id uuid not null,
  event text not null,
  data text not null,
  expires_at timestamptz not null,
  -- Events of protocol v2 are numbered over all runs of their thread, without a hole.
  thread_seq bigint,
  primary key (run_id, ms, seq)
);
create index stream_event_thread_seq on gx.stream_event (thread_id, thread_seq) where thread_seq is not null;
-- Numbered events are found by their number, and most stay until their run has ended, so that the other two indexes
-- would only cost. Each event in a stream of many costs Postgres two entries instead of four.
create index stream_event_of_thread on gx.stream_event (thread_id, ms, seq) where thread_seq is null;
create index stream_event_expires on gx.stream_event (expires_at) where expires_at < 'infinity';

-- Ends of runs that their webhooks have yet to hear of, written with the ends themselves. A row outlives its run,
-- because a run that is rolled back, or had a thread of its own, is gone by then. While a worker sends it, it is due
-- when that worker may be taken for dead.
create table gx.webhook (
  run_id uuid primary key,
  url jsonb not null,
  host text not null,
  message json not null,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  worker uuid,
  created_at timestamptz not null default now(),
  -- The rest of a task's push notification, and how it is authenticated (src/agent/db/webhooks/push-configs.ts). Such a row has
  -- an id of its own in the place of the run's, and no url.
  push json
);
create index webhook_due on gx.webhook (due_at);

-- A token is where feedback on a run under one key may be given until it expires; given_at tells that it was. It
-- outlives stateless runs.
create table gx.feedback (
  token uuid primary key,
  run_id uuid not null,
  thread_id uuid not null,
  key text not null,
  url text not null,
  expires_at timestamptz not null,
  given_at timestamptz,
  score double precision,
  value jsonb,
  comment text,
  correction jsonb,
  metadata jsonb
);
create index feedback_run on gx.feedback (run_id, key);
create index feedback_thread on gx.feedback (thread_id);
create index feedback_unused on gx.feedback (expires_at) where given_at is null;

-- A cron makes runs by a schedule. Whoever removes a thread removes its crons (src/agent/db/threads/threads.ts): a foreign key
-- would cost every end of a run on a thread of its own. owner is the user that its runs act for, as the handlers of
-- auth.path let it in.
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

create table gx.store_item (
  namespace text[] not null,
  key text not null,
  value jsonb not null,
  ttl_minutes double precision,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- The index that the writer asked for (null: as gx.json says).
  index jsonb,
  -- The length of the vectors made since: a server that needs another length takes the item up.
  indexed_dims integer,
  primary key (namespace, key)
);
create index store_item_value on gx.store_item using gin (value jsonb_path_ops);
create index store_item_expiry on gx.store_item (expires_at) where expires_at is not null;
create index store_item_namespace on gx.store_item using gin (namespace);

-- One row for each text of an item that is searched by meaning.
create table gx.store_vector (
  namespace text[] not null,
  key text not null,
  n integer not null,
  embedding real[] not null,
  primary key (namespace, key, n),
  foreign key (namespace, key) references gx.store_item on delete cascade
);
create index store_vector_namespace on gx.store_vector using gin (namespace);

create table gx.checkpoints (
  thread_id text not null,
  checkpoint_ns text not null default '',
  checkpoint_id text not null,
  parent_checkpoint_id text,
  type text,
  checkpoint jsonb not null,
  metadata jsonb not null default '{}',
  primary key (thread_id, checkpoint_ns, checkpoint_id)
);

create table gx.checkpoint_blobs (
  thread_id text not null,
  checkpoint_ns text not null default '',
  channel text not null,
  version text not null,
  type text not null,
  blob bytea,
  -- The version of the channel to which a list adds something (docs/decisions/0009-lists-as-changes.md).
  base text,
  primary key (thread_id, checkpoint_ns, channel, version)
);

create table gx.checkpoint_writes (
  thread_id text not null,
  checkpoint_ns text not null default '',
  checkpoint_id text not null,
  task_id text not null,
  idx integer not null,
  channel text not null,
  type text,
  blob bytea not null,
  -- Whose write it is: a run that resumes writes at a checkpoint of the run before it, and takes that back when it is
  -- rolled back.
  run_id text,
  -- The write of another run that this one replaced, newest first ({run_id, channel, type, blob, before}): taking this
  -- run back puts it in its place again.
  before jsonb,
  -- The path of the task that wrote. Writes of a step are read in this order, in which they were applied.
  task_path text not null default '',
  primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);

-- Older checkpoints of a thread, 32 to a row, with what their tasks wrote (docs/decisions/0011-packed-checkpoints.md).
create table gx.checkpoint_packs (
  thread_id text not null,
  checkpoint_ns text not null,
  last_id text not null,
  run_ids text[] not null,
  packed json not null,
  primary key (thread_id, checkpoint_ns, last_id)
);

-- The keys that have encrypted values here, each with a word that only it can read: so a start with another key fails
-- at once.
create table gx.encryption_key (
  key_id text primary key,
  sealed json not null,
  created_at timestamptz not null default now(),
  -- When a server last said that it encrypts with the key.
  used_at timestamptz not null default now()
);

-- How far the search for values of earlier keys is, by the key that encrypts: the number of the table, and the row
-- (src/agent/db/encryption/rewrite.ts).
create table gx.reencryption (
  key_id text primary key,
  older text[] not null,
  place integer not null default 0,
  after text not null default '(0,0)',
  found bigint not null default 0,
  rewritten bigint not null default 0,
  worker uuid,
  lease_until timestamptz not null default now(),
  not_before timestamptz not null default now()
);

-- Keys of requests that are carried out once, with the ids of the objects that they made: of runs, of a run and its
-- thread, of a thread or of a cron. Keys and requests are hashes (src/agent/kernel/request-key.ts). A row outlives these
-- objects, so that a late repetition makes nothing.
create table gx.idempotency_key (
  key bytea primary key,
  request bytea not null,
  made uuid[] not null,
  created_at timestamptz not null default now()
);
create index idempotency_key_created on gx.idempotency_key (created_at);
