-- What a write of another run replaced, newest first ({run_id, channel, type, blob, before}): taking that run back puts it in its place again.
alter table gx.checkpoint_writes add column before jsonb;
