import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { linesOf } from '../../kit/lines.ts';
import { until } from '../../kit/until.ts';
import {
  startReceiver,
  type ReceivedWebhook,
  type WebhookReceiver,
} from '../../kit/webhook-receiver.ts';

/* What others hear of the ends of runs, and what a run says of it. */

const KEY = Buffer.from('0123456789abcdef0123456789abcdef');
const SECRETS = {
  LG_WEBHOOK_TOKEN: 't0ken',
  GX_WEBHOOK_SECRET: `whsec_${KEY.toString('base64')}`,
  GX_WEBHOOK_TIMEOUT_SECS: '2',
};

let database: TestDatabase;
let agent: AgentProcess;
let receiver: WebhookReceiver;

beforeAll(async () => {
  database = await freshDatabase();
  receiver = await startReceiver({
    '/fails-once': (response, before) => response.writeHead(before === 0 ? 503 : 204).end(),
    '/fails': (response) => response.writeHead(500).end(),
    '/refuses': (response) => response.writeHead(410).end(),
    '/hangs': () => undefined,
    '/redirects': (response) => response.writeHead(307, { location: '/elsewhere' }).end(),
  });
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/webhooks/gx.json',
    env: SECRETS,
  });
});

afterAll(async () => {
  await agent.kill();
  await receiver.stop();
  await database.drop();
});

type Ids = { thread_id: string; run_id: string };
type Shown = {
  status: string;
  webhook_status: { state: string; attempts: number; last_error: string | null } | null;
};

const shown = async ({ thread_id, run_id }: Ids): Promise<Shown> =>
  (await agent.client.runs.get(thread_id, run_id)) as unknown as Shown;

const settled = (run: Ids): Promise<Shown> =>
  until('the webhook is settled', async () => {
    const now = await shown(run);
    return now.webhook_status?.state === 'pending' ? undefined : now;
  });

const heard = (path: string): Promise<ReceivedWebhook> =>
  until(`something comes to ${path}`, () => receiver.at(path)[0]);

async function start(graph: string, input: object | null, path: string): Promise<Ids> {
  const { thread_id } = await agent.client.threads.create();
  return agent.client.runs.create(thread_id, graph, {
    input: input as never,
    webhook: receiver.url + path,
    metadata: { asked: 'by a test' },
  });
}

describe('the end of a run', () => {
  test('is told with the run, the state of its thread and the times, and the run shows that it was sent', async () => {
    const run = await start('steps', { left: 2 }, '/succeeds');
    const { body, headers } = await heard('/succeeds');
    const { webhook_status, ...row } = (await agent.client.runs.get(
      run.thread_id,
      run.run_id,
    )) as unknown as Shown & {
      updated_at: string;
    };
    expect(webhook_status).not.toBeNull();
    const { run_started_at, run_ended_at, webhook_sent_at, values, ...told } = body;
    expect(told).toEqual({ ...row, updated_at: expect.any(String) as string });
    expect(values).toEqual({ left: 0, done: 2 });
    const times = [run_started_at, run_ended_at, webhook_sent_at].map((time) =>
      Date.parse(String(time)),
    );
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      authorization: 'Bearer t0ken',
      'x-from': 'tests',
    });
    expect(await settled(run)).toMatchObject({
      status: 'success',
      webhook_status: { state: 'sent', attempts: 1, last_error: null },
    });
  });

  test('is signed as Standard Webhooks says, under an id that names the run', async () => {
    const run = await start('steps', { left: 1 }, '/signed');
    const { headers, text } = await heard('/signed');
    expect(headers['webhook-id']).toBe(run.run_id);
    expect(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(300);
    const signed = `${run.run_id}.${String(headers['webhook-timestamp'])}.${text}`;
    expect(headers['webhook-signature']).toBe(
      `v1,${createHmac('sha256', KEY).update(signed).digest('base64')}`,
    );
  });

  test('is told when the run fails, with the error', async () => {
    await start('broken', { how: 'throw' }, '/error');
    const { body } = await heard('/error');
    expect(body).toMatchObject({
      status: 'error',
      error: { message: expect.any(String) as string },
    });
  });

  test('is told when the run waits for a person', async () => {
    await start('approval', { question: 'may I?' }, '/asks');
    expect((await heard('/asks')).body).toMatchObject({ status: 'success' });
  });

  test('is told when the run is cancelled: under way, and before it began', async () => {
    const running = await start('steps', { left: 1000, pause: 20 }, '/cancelled');
    const { thread_id } = running;
    const next = await agent.client.runs.create(thread_id, 'steps', {
      input: { left: 1 },
      webhook: `${receiver.url}/cancelled-early`,
    });
    await until('it runs', async () => (await shown(running)).status === 'running');
    await agent.client.runs.cancel(thread_id, next.run_id);
    await agent.client.runs.cancel(thread_id, running.run_id);
    expect((await heard('/cancelled')).body).toMatchObject({
      run_id: running.run_id,
      status: 'interrupted',
    });
    expect((await heard('/cancelled-early')).body).toMatchObject({
      run_id: next.run_id,
      status: 'interrupted',
      run_started_at: null,
    });
  });

  test('is told when the run is rolled back, although it is gone then', async () => {
    const running = await start('steps', { left: 1000, pause: 20 }, '/rolled-back');
    const { thread_id } = running;
    const next = await agent.client.runs.create(thread_id, 'steps', {
      input: { left: 1 },
      webhook: `${receiver.url}/never-began`,
    });
    await until('it runs', async () => (await shown(running)).status === 'running');
    await agent.client.runs.cancel(thread_id, next.run_id, false, 'rollback');
    await agent.client.runs.cancel(thread_id, running.run_id, true, 'rollback');
    expect((await heard('/rolled-back')).body).toMatchObject({
      run_id: running.run_id,
      status: 'rollback',
    });
    expect((await heard('/never-began')).body).toMatchObject({
      run_id: next.run_id,
      status: 'rollback',
    });
  });

  test('is told of a run on a thread of its own, which is gone then, with the state that it had', async () => {
    const { run_id } = await agent.client.runs.create(null, 'steps', {
      input: { left: 1 },
      webhook: `${receiver.url}/alone`,
    });
    expect((await heard('/alone')).body).toMatchObject({
      run_id,
      status: 'success',
      values: { left: 0, done: 1 },
    });
  });

  test('is told with all of a long state, also where only what came last was written', async () => {
    const long = 'x'.repeat(40_000);
    const { thread_id } = await start(
      'chat',
      { messages: [{ role: 'user', content: long }] },
      '/long',
    );
    const said = async (path: string): Promise<string[]> =>
      (
        (await heard(path)).body as unknown as { values: { messages: { content: string }[] } }
      ).values.messages.map(({ content }) => content);
    const [first, ...answers] = await said('/long');
    expect(first).toBe(long);
    const input = { messages: [{ role: 'user', content: 'more' }] };
    await agent.client.runs.create(thread_id, 'chat', { input, webhook: `${receiver.url}/longer` });
    expect((await said('/longer')).slice(0, answers.length + 2)).toEqual([
      first,
      ...answers,
      'more',
    ]);
  });
});

// Each waits between its attempts.
describe.concurrent('a receiver', () => {
  test('that fails once gets the same message again', async () => {
    const run = await start('steps', { left: 1 }, '/fails-once');
    expect(await settled(run)).toMatchObject({
      webhook_status: { state: 'sent', attempts: 2, last_error: null },
    });
    const ids = receiver.at('/fails-once').map(({ headers }) => headers['webhook-id']);
    expect(ids).toEqual([run.run_id, run.run_id]);
  });

  test.each([
    ['fails each time is called three times', '/fails', 3, 'The receiver answered 500.'],
    ['refuses is called once', '/refuses', 1, 'The receiver answered 410.'],
    [
      'redirects is called once, and nobody else is',
      '/redirects',
      1,
      'The receiver answered 307; redirects are not followed.',
    ],
    ['hangs is called three times', '/hangs', 3, 'The receiver did not answer within 2 seconds.'],
  ])('that %s; the run keeps its own end', async (_, path, calls, last_error) => {
    const run = await start('steps', { left: 1 }, path);
    expect(await settled(run)).toMatchObject({
      status: 'success',
      webhook_status: { state: 'failed', attempts: calls, last_error },
    });
    const about = await until('it is in the log', () =>
      linesOf(agent.output()).find(
        ({ msg, run_id }) => msg === 'webhook failed' && run_id === run.run_id,
      ),
    );
    expect(about).toMatchObject({
      thread_id: run.thread_id,
      request_id: expect.any(String) as string,
      last_error,
    });
    expect(receiver.at(path)).toHaveLength(calls);
    expect(receiver.at('/elsewhere')).toEqual([]);
    expect(await agent.client.threads.getState(run.thread_id)).toMatchObject({
      values: { done: 1 },
    });
  });

  test('that is not there is called three times', async () => {
    const { thread_id } = await agent.client.threads.create();
    const run = await agent.client.runs.create(thread_id, 'steps', {
      input: { left: 1 },
      webhook: 'http://127.0.0.1:9/',
    });
    const { webhook_status } = await settled(run);
    expect(webhook_status).toEqual({
      state: 'failed',
      attempts: 3,
      last_error: 'The receiver could not be reached (ECONNREFUSED).',
    });
  });
});

test('a run without a webhook says so, and nothing is written for it', async () => {
  const { thread_id } = await agent.client.threads.create();
  const run = await agent.client.runs.create(thread_id, 'steps', { input: { left: 1 } });
  await agent.client.runs.join(thread_id, run.run_id);
  expect(await shown(run)).toMatchObject({ status: 'success', webhook_status: null });
  expect(await database.sql('select 1 from gx.webhook where run_id = $1', [run.run_id])).toEqual(
    [],
  );
});

test('messages that were sent, or given up, are kept no longer', async () => {
  const run = await start('steps', { left: 1 }, '/kept-no-longer');
  await settled(run);
  expect(await database.sql('select 1 from gx.webhook where run_id = $1', [run.run_id])).toEqual(
    [],
  );
});

test('what becomes of webhooks is counted', async () => {
  const text = await (await fetch(`${agent.url}/metrics`)).text();
  expect(text).toMatch(/gx_api_webhooks_total\{[^}]*result="sent"[^}]*\} [1-9]/);
  expect(text).toMatch(/gx_api_num_pending_webhooks\{[^}]*\} \d/);
});

describe('a server by itself', () => {
  let other: AgentProcess;
  beforeAll(async () => {
    other = await startAgent({ database: database.uri });
  });
  afterAll(() => other.kill());

  test.each([
    ['itself by address', 'http://127.0.0.1:8000/'],
    ['itself by name', 'http://localhost/'],
    ['itself in decimal', 'http://2130706433/'],
    ['itself in IPv6', 'http://[::ffff:127.0.0.1]/'],
    ['a metadata address', 'http://169.254.169.254/latest/meta-data'],
    ['a route of its own', '/threads'],
    ['another protocol', 'ftp://example.com/'],
    ['a password', 'https://user:pass@example.com/'],
    ['an endless URL', `https://example.com/${'x'.repeat(5000)}`],
  ])('refuses a webhook to %s, by name, and makes no run', async (_, webhook) => {
    const { thread_id } = await other.client.threads.create();
    const body = JSON.stringify({
      assistant_id: 'steps',
      input: {},
      webhook,
      schedule: '0 0 1 1 *',
    });
    const ofThread = ['', '/crons'].map((path) => `/threads/${thread_id}/runs${path}`);
    for (const path of [...ofThread, '/runs', '/runs/wait', '/runs/stream', '/runs/crons']) {
      const answer = await fetch(other.url + path, { method: 'POST', body });
      expect(answer.status).toBe(422);
      expect(((await answer.json()) as { detail: string }).detail).toContain('webhook');
    }
    expect(await other.client.runs.list(thread_id)).toEqual([]);
    expect(await other.client.crons.count()).toBe(0);
  });
});

test('a cron hands its webhook on to its runs', async () => {
  const cron = await agent.client.crons.create('steps', {
    schedule: '* * * * * *',
    input: { left: 1 },
    webhook: `${receiver.url}/cron`,
  });
  const { cron_id } = cron as unknown as { cron_id: string };
  expect((await heard('/cron')).body).toMatchObject({
    status: 'success',
    kwargs: { config: { configurable: { cron_id } } },
  });
  await agent.client.crons.delete(cron_id);
});

test('webhooks that are switched off are skipped, and the run says so', async () => {
  const own = await freshDatabase();
  const off = await startAgent({ database: own.uri, config: 'test/agent/wire/webhooks/off.json' });
  const { thread_id } = await off.client.threads.create();
  const made = await off.client.runs.create(thread_id, 'steps', {
    input: { left: 1 },
    webhook: `${receiver.url}/off`,
  });
  const statusOf = (run: unknown): unknown => (run as Shown).webhook_status;
  const skipped = { state: 'skipped', attempts: 0, last_error: null };
  expect(statusOf(made)).toEqual(skipped);
  expect(statusOf(await off.client.runs.get(thread_id, made.run_id))).toEqual(skipped);
  await off.client.runs.join(thread_id, made.run_id);
  expect(statusOf(await off.client.runs.get(thread_id, made.run_id))).toEqual(skipped);
  expect(receiver.at('/off')).toEqual([]);
  await off.kill();
  await own.drop();
});

test('a body has the fields that gx.json leaves it', async () => {
  const own = await freshDatabase();
  const few = await startAgent({
    database: own.uri,
    config: 'test/agent/wire/webhooks/few-fields.json',
  });
  const { run_id } = await few.client.runs.create(null, 'steps', {
    input: { left: 1 },
    webhook: `${receiver.url}/few`,
  });
  const { body, headers } = await heard('/few');
  expect(body).toEqual({
    run_id,
    status: 'success',
    webhook_sent_at: expect.any(String) as string,
  });
  expect(headers['webhook-signature']).toBeUndefined();
  await few.kill();
  await own.drop();
});

test('headers of gx.json go to no host that it does not list, because callers name it', async () => {
  const own = await freshDatabase();
  const open = await startAgent({
    database: own.uri,
    config: 'test/agent/wire/webhooks/no-domains.json',
    env: SECRETS,
  });
  const { thread_id } = await open.client.threads.create();
  const { run_id } = await open.client.runs.create(thread_id, 'steps', {
    input: { left: 1 },
    webhook: `${receiver.url}/unlisted`,
  });
  const { headers } = await heard('/unlisted');
  expect(headers['authorization']).toBeUndefined();
  expect(headers['webhook-signature']).toBeTruthy();
  const withheld_headers = ['authorization'];
  await expect
    .poll(async () => (await open.client.runs.get(thread_id, run_id)) as unknown as Shown)
    .toMatchObject({ webhook_status: { state: 'sent', withheld_headers } });
  expect(await (await fetch(`${open.url}/info`)).json()).toMatchObject({
    webhooks: { withheld_headers },
  });
  await expect
    .poll(() => open.output())
    .toContain('webhooks.url.allowed_domains must list the hosts');
  await open.kill();
  await own.drop();
});

test.each([
  ['a header names a variable that is not set', {}, 'webhooks.headers.Authorization'],
  [
    'the secret is no secret of Standard Webhooks',
    { ...SECRETS, GX_WEBHOOK_SECRET: 'short' },
    'GX_WEBHOOK_SECRET',
  ],
])('the server does not start when %s', async (_, env, words) => {
  const { code, output } = await failedStart({
    database: database.uri,
    config: 'test/agent/wire/webhooks/gx.json',
    env,
  });
  expect(code).toBe(1);
  expect(output).toContain(words);
});
