-- Older checkpoints of a thread, 32 to a row, with what their tasks wrote (docs/decisions/0011-packed-checkpoints.md).
create table gx.checkpoint_packs (
  thread_id text not null,
  checkpoint_ns text not null,
  last_id text not null,
  run_ids text[] not null,
  packed json not null,
  primary key (thread_id, checkpoint_ns, last_id)
);
