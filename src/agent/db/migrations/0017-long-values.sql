-- A long state as it was written, because Postgres takes long to make jsonb of it. "values" then has only its plain fields. It counts while it is as new as
-- the state: a server that does not know it writes a later state_updated_at.
alter table gx.thread add column long_values text, add column long_values_at timestamptz;
alter table gx.thread alter column long_values set storage external;
