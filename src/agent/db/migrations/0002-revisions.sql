-- The revision of the agent that a run is pinned to, and that of the last run that was put on a thread. Null: the run
-- may be executed by any.
alter table gx.run add column revision text;
alter table gx.thread add column revision text;
-- True where the thread stays on its revision for its life.
alter table gx.thread add column kept boolean;
-- Work that waits for a revision. Runs that start with the statement that makes them are never in it.
create index run_pinned on gx.run (revision) where status = 'pending' and revision is not null;
create index thread_pinned on gx.thread (revision) where revision is not null and (kept or status = 'interrupted');
-- Threads that wait for somebody are counted in reports.
create index thread_interrupted on gx.thread (thread_id) where status = 'interrupted';

-- The one row tells which revision serves, which others still execute what is pinned to them, and which of those have
-- been replaced (draining). Work of any other revision belongs to the one that serves. Without a row nothing of this
-- is known, and every revision counts as living.
create table gx.rollout (
  one boolean primary key default true check (one),
  current text not null,
  living text[] not null,
  draining text[] not null default '{}',
  -- The revision that is tried out: its share of the new threads in percent, and whose hash decides (SHARE_BY).
  candidate text,
  share real not null default 0,
  share_by text not null default 'thread',
  -- Revisions that were given up, whose runs that have not begun belong to the one that serves.
  aborted text[] not null default '{}',
  made_at timestamptz not null
);

-- The graphs of each revision whose pods have started, so that a new thread of a graph that the candidate lacks stays
-- with the revision that serves.
create table gx.revision (name text primary key, graphs text[] not null);
