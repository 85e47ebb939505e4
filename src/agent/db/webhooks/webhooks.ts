import type { Codec } from '../../encryption/codec.ts';
import type { RunError, WebhookStatus } from '../../../schema/agent/run.ts';
import type { Place } from '../../encryption/codec.ts';
import type { Db } from '../base/pool.ts';
import { openRuns } from '../fields/run-fields.ts';
import {
  buildThreadInterruptsPlace,
  buildThreadValuesPlace,
  VALUES,
} from '../fields/thread-values.ts';
import type { Json } from '../../../schema/json.ts';

/*
 * This file knows the ends of runs that are still to be sent, by webhook or as push notifications. The statement that
 * ends a run also writes such a row, so that no end is lost when a process dies in between.
 */

/**
 * Where a run's end is sent. `host` is the one of the URL: a target that hangs must not hold up the others.
 * `skipped` stands where the server sends none, which the run says from its beginning.
 */
export type WebhookTarget = { url: string; host: string; skipped?: true };

/** Where push notifications go, in which version of the protocol, and their credentials. */
export type PushConfig = {
  id: string;
  url: string;
  version: '1.0' | '0.3';
  token: string;
  authentication: { scheme: string; credentials: string } | null;
};

/** The message about an ended run, but for the time of sending: the run as clients see it, and its thread's state. */
export type ReportedEnd = {
  run_id: string;
  thread_id: string;
  status: string;
  run_started_at: string | null;
  run_ended_at: string;
  values: unknown;
  error: RunError | null;
} & Json;

/**
 * How ends are described in SQL: where the rows `r` come from and which of them, their status, the state that the
 * thread then has, as JSON, and its questions, if the run waits for answers.
 */
type EndSql = {
  from: string;
  status: string;
  values?: string;
  questions?: string;
  only?: string;
  webhooks?: string;
};

/** The state that the thread `t` of a run `r` has by itself. */
export const STATE_OF_THREAD = `(select ${VALUES} from gx.thread t where t.thread_id = r.thread_id)`;

/** The configurations of push notifications of the task of a run `r`, which its first run has. */
const PUSHES = `jsonb_each(case when r.webhook ? 'task'
    then (select f.webhook->'push' from gx.run f where f.run_id = (r.webhook->>'task')::uuid and f.thread_id = r.thread_id)
    else r.webhook->'push' end)`;

/** The receivers of an end, each with a message with an id of its own. */
const buildListenersSql = (webhooks: string): string => `(
    select r.run_id as message_id, r.webhook->'url' as url, r.webhook->>'host' as host, null::jsonb as push
      where r.webhook ? 'url' and ${webhooks}
    union all select gen_random_uuid(), 'null', c.value->>'host',
      jsonb_build_object('id', c.key, 'task', coalesce(r.webhook->>'task', r.run_id::text)) || c.value from ${PUSHES} c) m`;

/**
 * Returns SQL that writes down, for each ended run `r` with a webhook or push notifications, the messages to send.
 * `webhooks`: whether its webhook is, as SQL.
 */
export const buildEndMessagesSql = ({
  from,
  status,
  values = STATE_OF_THREAD,
  questions = 'null::json',
  only = 'true',
  webhooks = 'true',
}: EndSql): string => `
  insert into gx.webhook (run_id, url, host, message, push)
    select m.message_id, m.url, m.host, json_build_object('run_id', r.run_id, 'thread_id', r.thread_id,
      'assistant_id', r.assistant_id, 'created_at', r.created_at, 'updated_at', now(), 'status', ${status}, 'metadata', r.metadata,
      'kwargs', r.kwargs, 'multitask_strategy', r.multitask_strategy, 'attempt', r.attempt, 'revision', r.revision, 'usage', r.usage,
      'run_started_at', r.started_at, 'run_ended_at', now(),
      'values', ${values}, 'error', r.error),
      case when m.push is not null then json_build_object('id', m.push->'id', 'task', m.push->'task', 'config', m.push->'config',
        'questions', ${questions}) end
    from ${from} cross join lateral ${buildListenersSql(webhooks)} where r.webhook is not null and ${only}
    on conflict (run_id) do nothing returning run_id`;

export const buildWebhookUrlPlace = (run_id: string): Place => ({
  kind: 'webhook.url',
  of: run_id,
});

/**
 * The configuration of a push notification, its id, and the task, by its first run. `questions` are those of its
 * thread; null where the task does not wait for answers.
 */
export type DuePush = { id: string; task: string; config: unknown; questions: unknown };

/** A message that this process sends now, as it is stored. Where there is no `push`, `run_id` is that of the run. */
export type DueWebhook = {
  run_id: string;
  url: unknown;
  host: string;
  attempts: number;
  message: ReportedEnd;
  push?: DuePush | null;
  expired: boolean;
};

export type ReportedPush = {
  config: PushConfig;
  questions: Json | null;
  task: string;
};

/** Returns where the message goes, and its content. */
export async function openWebhook(
  { codec }: { codec: Codec },
  due: DueWebhook,
): Promise<{ url: string; end: ReportedEnd; push: ReportedPush | undefined }> {
  const [end] = await openRuns({ codec }, [due.message]);
  const reported = {
    ...end!,
    values: await codec.open(buildThreadValuesPlace(due.message.thread_id), due.message.values),
  };
  if (!due.push)
    return {
      url: (await codec.open(buildWebhookUrlPlace(due.run_id), due.url)) as string,
      end: reported,
      push: undefined,
    };
  const { task, config: sealed, questions } = due.push;
  const config = (await codec.open(buildWebhookUrlPlace(task), sealed)) as PushConfig;
  const opened = (await codec.open(
    buildThreadInterruptsPlace(due.message.thread_id),
    questions,
  )) as ReportedPush['questions'];
  return { url: config.url, end: reported, push: { config, questions: opened, task } };
}

/** `room`: how many more each busy host may get, `each`: any other, `most`: all together. */
export type ClaimWebhooks = {
  worker: string;
  leaseSeconds: number;
  room: Map<string, number>;
  each: number;
  most: number;
  lifeSeconds: number;
};

/** Messages that one statement looks at, so that the many of one host don't hide those of others. */
const LOOKED_AT = 500;

/**
 * Takes messages that are due, the oldest first, so that nobody else sends them before the lease is over. `more`:
 * others may be due that this statement did not look at.
 */
export async function claimWebhooks(
  db: Db,
  { worker, leaseSeconds, room, each, most, lifeSeconds }: ClaimWebhooks,
): Promise<{ claimed: DueWebhook[]; more: boolean }> {
  const claimed = await db.query<DueWebhook & { looked: number }>({
    name: 'webhook_claim',
    text: `with busy as (select * from unnest($3::text[], $4::int[]) b (host, room)),
      looked as (
        select run_id, host, due_at from gx.webhook where due_at <= now() and host <> all(array(select host from busy where room <= 0))
        order by due_at limit ${LOOKED_AT}),
      placed as (select run_id, host, row_number() over (partition by host order by due_at) as place from looked),
      chosen as materialized (
        select w.run_id from placed p left join busy using (host) join gx.webhook w using (run_id)
        where p.place <= coalesce(busy.room, $5) and w.due_at <= now() order by w.due_at limit $6 for update of w skip locked)
      update gx.webhook w set worker = $1, due_at = now() + $2 * interval '1 second' from chosen where w.run_id = chosen.run_id
      returning w.run_id, w.url, w.host, w.attempts, w.message, w.push, w.created_at < now() - $7 * interval '1 second' as expired,
        (select count(*) from looked) as looked`,
    values: [worker, leaseSeconds, [...room.keys()], [...room.values()], each, most, lifeSeconds],
  });
  return { claimed, more: (claimed[0]?.looked ?? 0) >= LOOKED_AT };
}

/** The outcome of an attempt; with `again`, in so many seconds, it is not the last. */
export type WebhookResult = { run_id: string; status: WebhookStatus; again: number | null };

/**
 * Writes the outcomes of attempts: a message that was sent, or given up, is deleted, and the run shows it while there
 * is one.
 */
export async function writeWebhookResults(
  db: Db,
  worker: string,
  results: WebhookResult[],
): Promise<void> {
  await db.query({
    name: 'webhook_result',
    text: `with given as materialized (select * from unnest($2::uuid[], $3::jsonb[], $4::float8[]) g (run_id, status, again) order by run_id),
      gone as (delete from gx.webhook w using given g where w.run_id = g.run_id and w.worker = $1 and g.again is null),
      later as (
        update gx.webhook w set attempts = (g.status->>'attempts')::int, worker = null, due_at = now() + g.again * interval '1 second'
        from given g where w.run_id = g.run_id and w.worker = $1 and g.again is not null),
      locked as materialized (
        select r.run_id, g.status from given g, lateral (select run_id from gx.run r where r.run_id = g.run_id for no key update) r)
      update gx.run r set webhook_status = locked.status from locked where r.run_id = locked.run_id`,
    values: [
      worker,
      results.map(({ run_id }) => run_id),
      results.map(({ status }) => JSON.stringify(status)),
      results.map(({ again }) => again),
    ],
  });
}
