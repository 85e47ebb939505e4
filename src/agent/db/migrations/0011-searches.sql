-- For searches by fields of the state that are no objects or lists: an index on whole states would cost each run more than all its statements.
create index thread_values on gx.thread using gin (
  jsonb_path_query_array("values", '$.keyvalue() ? (@.value.type() != "object" && @.value.type() != "array")', '{}', true) jsonb_path_ops);
-- Most threads are idle, and found by time alone.
create index thread_status on gx.thread (status, updated_at desc) where status <> 'idle';
create index thread_state_updated on gx.thread (state_updated_at desc);
