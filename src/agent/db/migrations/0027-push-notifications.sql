-- What a push notification of a task says besides the end of its run, and how it is authenticated (src/agent/db/push-configs.ts). Such a row has an id
-- of its own in the place of the run's, and no url.
alter table gx.webhook add column push json;
