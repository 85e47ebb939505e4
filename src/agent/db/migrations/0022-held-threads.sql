-- While a graph answers a change of the thread's state, no run of it begins: until then, and for whom.
alter table gx.thread add column held_until timestamptz;
alter table gx.thread add column holder uuid;
