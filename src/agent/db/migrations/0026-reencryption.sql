-- When a server last said that it encrypts with the key.
alter table gx.encryption_key add column used_at timestamptz not null default now();
-- How far the search for values of earlier keys is, by the key that encrypts: the number of the table, and the row (src/agent/db/reencryption.ts).
create table gx.reencryption (
  key_id text primary key,
  older text[] not null,
  place integer not null default 0,
  after text not null default '(0,0)',
  found bigint not null default 0,
  rewritten bigint not null default 0,
  worker uuid,
  lease_until timestamptz not null default now(),
  not_before timestamptz not null default now()
);
