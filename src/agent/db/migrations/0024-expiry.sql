-- ttl is {strategy, ttl} in minutes, from the thread's last change, or from the time at which its older checkpoints were removed.
alter table gx.thread add column pruned_at timestamptz;
-- Times are compared in UTC, because only those without a zone make an index.
create index thread_expiry on gx.thread (
  ((greatest(updated_at, state_updated_at, pruned_at) at time zone 'UTC') + (ttl->>'ttl')::float8 * interval '1 minute')
) where ttl is not null;
