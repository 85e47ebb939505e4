-- Calls about a thread that processes of the revision to which it is pinned are to answer. They live for seconds, and a
-- database that was not shut down forgets them, as their askers do.
create unlogged table gx.call (
  call_id uuid primary key,
  revision text not null,
  asker text not null,
  operation text not null,
  args text not null,
  -- The context under which values are encrypted.
  context text,
  made_at timestamptz not null default now(),
  -- The process that answers. Null: none has taken it.
  taken_by text,
  answer text,
  problem text
);
