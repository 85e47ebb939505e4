-- The keys that have encrypted values here, each with a word that only it can read: so a start with another key fails at once.
create table gx.encryption_key (
  key_id text primary key,
  sealed json not null,
  created_at timestamptz not null default now()
);
