import type { Codec } from '../../encryption/codec.ts';
import { Rejected } from '../../../errors.ts';
import { toFieldText, toField } from '../base/json-field.ts';
import type { Db } from '../base/pool.ts';
import { buildWebhookUrlPlace, type PushConfig, type WebhookTarget } from './webhooks.ts';

/*
 * This file knows where the states of tasks are sent. A run's column `webhook` holds this beside the run's own webhook:
 * `push`, by the ids of the configurations, where the run is the first of its task, and else `task`, the id of that
 * run.
 */

/** Where a configuration goes, and itself, as it is stored. */
export type PushTarget = { host: string; config: PushConfig };

/**
 * The task of a new run: one that it begins, with whom that tells, or goes on with, by its first run, and by the last
 * one, which must still wait for an answer. `push` is added to whom that task tells.
 */
export type TaskOfRun =
  | { first: string; last: string; push: PushTarget | undefined }
  | { push: PushTarget };

/** A task, by its first run and the thread of that. A run of another thread has no part in it. */
export type TaskIds = { thread_id: string; first: string };

/** Whom one task may tell. */
const MOST_CONFIGS = 10;

const pushField = async ({ codec }: { codec: Codec }, task: string, { host, config }: PushTarget) =>
  `{"host":${toField(host)},"config":${await codec.seal(buildWebhookUrlPlace(task), toField(config)!)}}`;

/** Returns the content of a run's column `webhook`. Addresses and credentials may be secrets, hosts are not. */
export async function sealWebhookField(
  db: { codec: Codec },
  run_id: string,
  { webhook, task }: { webhook: WebhookTarget | null; task?: TaskOfRun | undefined },
): Promise<string | null> {
  const parts: string[] = [];
  if (webhook !== null) {
    const url = await db.codec.seal(buildWebhookUrlPlace(run_id), toField(webhook.url)!);
    parts.push(`"url":${url},"host":${toField(webhook.host)}`);
    if (webhook.skipped === true) parts.push('"skipped":true');
  }
  if (task !== undefined && 'first' in task) parts.push(`"task":${toField(task.first)}`);
  else if (task !== undefined)
    parts.push(
      `"push":{${toField(task.push.config.id)}:${await pushField(db, run_id, task.push)}}`,
    );
  return parts.length === 0 ? null : `{${parts.join(',')}}`;
}

/** Adds a configuration to a task, or replaces the one of its id. Throws `Rejected` where it has so many already. */
export async function addPushConfig(
  db: Db,
  { thread_id, first }: TaskIds,
  { host, config }: PushTarget,
): Promise<void> {
  const rows = await db.query({
    name: 'push_config_write',
    text: `update gx.run set webhook = coalesce(webhook, '{}')
        || jsonb_build_object('push', coalesce(webhook->'push', '{}') || jsonb_build_object($2::text, $3::jsonb))
      where run_id = $1 and thread_id = $5 and (coalesce(webhook->'push', '{}') ? $2
        or (select count(*) from jsonb_object_keys(coalesce(webhook->'push', '{}'))) < $4) returning run_id`,
    values: [
      first,
      toFieldText(config.id),
      await pushField(db, first, { host, config }),
      MOST_CONFIGS,
      thread_id,
    ],
  });
  if (rows.length === 0)
    throw new Rejected(`A task tells at most ${MOST_CONFIGS}: delete another configuration first.`);
}

/** Returns the configurations of a task, in the order of their ids. */
export async function pushConfigsOf(db: Db, { thread_id, first }: TaskIds): Promise<PushConfig[]> {
  const stored = await db.query<{ value: { host: string; config: unknown } }>({
    name: 'push_config_list',
    text: `select c.value from gx.run r, jsonb_each(r.webhook->'push') c where r.run_id = $1 and r.thread_id = $2 order by c.key`,
    values: [first, thread_id],
  });
  return Promise.all(
    stored.map(
      async ({ value }) =>
        (await db.codec.open(buildWebhookUrlPlace(first), value.config)) as PushConfig,
    ),
  );
}

/** Removes a configuration of a task, with its messages that are still to be sent. */
export async function removePushConfig(
  db: Db,
  { thread_id, first }: TaskIds,
  id: string,
): Promise<void> {
  await db.query({
    name: 'push_config_remove',
    text: `with gone as (delete from gx.webhook where push->>'task' = $1::text and push->>'id' = $2 and message->>'thread_id' = $3::text)
      update gx.run set webhook = webhook #- array['push', $2::text]
      where run_id = $1::text::uuid and thread_id = $3::text::uuid and webhook->'push' ? $2`,
    values: [first, id, thread_id],
  });
}
