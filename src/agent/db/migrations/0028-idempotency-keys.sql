-- Keys of requests that are carried out once, with what they made: the ids of runs, of a run and its thread, of a thread or of a cron. Keys and
-- requests are hashes (src/agent/request-key.ts). A row outlives what was made, so that a late repetition makes nothing.
create table gx.idempotency_key (
  key bytea primary key,
  request bytea not null,
  made uuid[] not null,
  created_at timestamptz not null default now()
);
create index idempotency_key_created on gx.idempotency_key (created_at);
