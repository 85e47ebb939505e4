-- The path of the task that wrote. What the tasks of a step wrote is read in this order, in which it was applied.
alter table gx.checkpoint_writes add column task_path text not null default '';
