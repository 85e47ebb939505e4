-- Numbered events are found by their number, and most stay until their run has ended, so that the other two indexes
-- would only cost. Each event in a stream of many costs Postgres two entries instead of four.
create index stream_event_of_thread on gx.stream_event (thread_id, ms, seq) where thread_seq is null;
create index stream_event_expires on gx.stream_event (expires_at) where expires_at < 'infinity';
drop index gx.stream_event_thread;
drop index gx.stream_event_expiry;
