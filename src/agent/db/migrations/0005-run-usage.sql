-- The sums of the calls of models of a run, written with its end. Null where none was recorded.
alter table gx.run add column usage jsonb;
