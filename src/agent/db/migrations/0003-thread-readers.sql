-- Processes that have a stream of the whole thread open.
alter table gx.thread add column readers uuid[] not null default '{}';
