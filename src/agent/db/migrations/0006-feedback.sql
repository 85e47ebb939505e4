-- A token is where feedback on a run under one key may be given until it expires; given_at tells that it was. It outlives stateless runs.
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
