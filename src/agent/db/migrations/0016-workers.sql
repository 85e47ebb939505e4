-- Each worker holds an advisory lock for as long as it lives: one whose lock is free is dead.
create table gx.worker (
  worker uuid primary key,
  lock bigint not null
);
-- False: its worker has claimed it and has not begun yet. Null: an older server claimed it, and says nothing of that.
alter table gx.run add column begun boolean;
