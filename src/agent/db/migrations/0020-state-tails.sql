-- The end of a long state, where it differs from the one in long_values, of which it keeps the first characters. It counts while it is as new as the
-- state; long_values_at then stays what it was, so that a server that does not know tails shows the plain fields only.
alter table gx.thread add column long_kept int, add column long_tail text, add column long_tail_at timestamptz;
