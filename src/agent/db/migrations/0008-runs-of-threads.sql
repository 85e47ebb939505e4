-- Runs ever put on the thread: whoever adds one sees whether another came in between since it looked.
alter table gx.thread add column runs bigint not null default 0;
