-- Whose write it is: a run that resumes writes at a checkpoint of the run before it, and takes that back when it is rolled back.
alter table gx.checkpoint_writes add column run_id text;
