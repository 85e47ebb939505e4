-- Events of protocol v2 are numbered over all runs of their thread, without a hole.
alter table gx.stream_event add column thread_seq bigint;
create index stream_event_thread_seq on gx.stream_event (thread_id, thread_seq) where thread_seq is not null;
-- The number of the last one that is no longer kept.
alter table gx.thread add column event_seq bigint not null default 0;
