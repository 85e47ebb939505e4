import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { startPostgres } from '../../src/agent/dev/embedded-postgres/start.ts';
import { a2aCalls, dataMessage, rpc, textMessage } from './a2a-calls.ts';
import { startAgent, type AgentProcess } from './agent-server.ts';
import { asAdmin, databaseUri } from './postgres-template.ts';
import { until } from './until.ts';
import { startReceiver, type WebhookReceiver } from './webhook-receiver.ts';
import { WireThread } from '../agent/event-streaming/client.ts';

/*
 * What clients and graphs say must not be found where the database keeps it. Each input carries a canary of its own,
 * and all of them share one word.
 */

const WORD = 'CaNaRy';

export const canary = (name: string): string => `${WORD}-${name}`;

export const secret = (name: string): { secret: string; plain: string } => ({
  secret: canary(name),
  plain: 'seen',
});

/** Where a receiver is away. */
const FAILS = `/fails?token=${canary('webhook')}`;

/** A thread with a run, and one in which somebody was asked. */
export const thread_id = '11111111-1111-4111-8111-111111111111';
export const asked_id = '22222222-2222-4222-8222-222222222222';

/** What is between a test and the server that it asks: a Postgres of its own, which logs every statement. */
export type Encrypted = {
  agent: AgentProcess;
  database: string;
  folder: string;
  receiver: WebhookReceiver;
  start(options: { config: string; env: Record<string, string> }): Promise<void>;
  stop(): Promise<void>;
};

export async function openEncrypted(options: {
  config: string;
  env: Record<string, string>;
}): Promise<Encrypted> {
  const folder = mkdtempSync(path.join(tmpdir(), 'gx-encryption-'));
  const postgres = await startPostgres({
    folder: path.join(folder, 'server'),
    owner: 'a test',
    durable: false,
  });
  await asAdmin(postgres.uri, async (client) => {
    await client.query(`alter system set log_statement = 'all'`);
    await client.query('select pg_reload_conf()');
    await client.query('create database encrypted');
  });
  const database = databaseUri(postgres.uri, 'encrypted');
  const receiver = await startReceiver({ [FAILS]: (response) => response.writeHead(503).end() });
  const opened: Encrypted = {
    agent: await startAgent({ database, ...options }),
    database,
    folder,
    receiver,
    start: async (other) => {
      await opened.agent.kill();
      opened.agent = await startAgent({ database, ...other });
    },
    stop: async () => {
      await opened.agent.kill();
      await receiver.stop();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return opened;
}

export async function call(
  agent: AgentProcess,
  method: string,
  place: string,
  body?: unknown,
): Promise<{ status: number; body: never }> {
  const answer = await fetch(`${agent.url}${place}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? null : JSON.parse(text)) as never };
}

/** Gives the server every input, and reads it again. */
export const everyInputIsRead = (of: () => Encrypted): unknown =>
  describe('every input is read as it was given', () => {
    test('assistants', async () => {
      const { assistants } = of().agent.client;
      const made = await assistants.create({
        graphId: 'keeps',
        config: { configurable: { secret: canary('config') } },
        metadata: secret('assistant'),
      });
      expect(made).toMatchObject({
        metadata: secret('assistant'),
        config: { configurable: { secret: canary('config') } },
      });
      await assistants.update(made.assistant_id, {
        context: { deep: [{ secret: canary('context') }] },
        metadata: { secret: { a: canary('patch') } },
      });
      expect(await assistants.get(made.assistant_id)).toMatchObject({
        context: { deep: [{ secret: canary('context') }] },
        config: { configurable: { deep: [{ secret: canary('context') }] } },
        metadata: { secret: { a: canary('patch') }, plain: 'seen' },
      });
      const versions = await assistants.getVersions(made.assistant_id, {
        metadata: { plain: 'seen' },
      });
      expect(versions.map(({ metadata }) => metadata?.['secret'])).toEqual([
        { a: canary('patch') },
        canary('assistant'),
      ]);
      expect(await assistants.setLatest(made.assistant_id, 1)).toMatchObject({
        metadata: secret('assistant'),
      });
      expect(await assistants.search({ metadata: { plain: 'seen' } })).toMatchObject([
        { metadata: secret('assistant') },
      ]);
    });

    test('threads, their states and their copies', async () => {
      const { threads } = of().agent.client;
      const made = await threads.create({
        threadId: thread_id,
        metadata: secret('thread'),
        graphId: 'keeps',
        supersteps: [{ updates: [{ values: { note: canary('superstep') }, asNode: '__start__' }] }],
      });
      expect(made.metadata).toMatchObject(secret('thread'));
      await threads.update(thread_id, { metadata: { secret: canary('changed') } });
      await threads.updateState(thread_id, { values: { note: canary('state') }, asNode: 'count' });
      const thread = await threads.get(thread_id);
      expect(thread).toMatchObject({
        metadata: secret('changed'),
        values: { note: canary('state') },
      });
      expect(
        (await threads.search({ metadata: { plain: 'seen' } })).map(({ values }) => values),
      ).toEqual([thread.values]);
      const copy = await threads.copy(thread_id);
      expect((await threads.getState(copy.thread_id)).values).toEqual(thread.values);
      expect(
        (await threads.getHistory(copy.thread_id, { limit: 10, metadata: { source: 'update' } }))
          .length,
      ).toBeGreaterThan(0);
    });

    test('results that are kept for a repetition of their request', async () => {
      const headers = { 'idempotency-key': randomUUID() };
      const body = JSON.stringify({ assistant_id: 'keeps', input: { note: canary('waited') } });
      const wait = async (): Promise<unknown> =>
        (await fetch(`${of().agent.url}/runs/wait`, { method: 'POST', headers, body })).json();
      const first = await wait();
      expect(first).toMatchObject({ note: canary('waited') });
      expect(await wait()).toEqual(first);
    });

    test('runs: their input, their events, their results and their feedback', async () => {
      const { runs, threads } = of().agent.client;
      const events = await Array.fromAsync(
        runs.stream(thread_id, 'keeps', {
          input: {
            note: canary('input'),
            messages: [{ role: 'user', content: canary('message') }],
          },
          config: { configurable: { token: canary('configurable') } },
          metadata: secret('run'),
          streamMode: ['values', 'custom', 'messages', 'updates'],
          streamResumable: true,
          feedbackKeys: ['liked'],
        }),
      );
      expect(events).toContainEqual(
        expect.objectContaining({ event: 'custom', data: { note: canary('input') } }),
      );
      const [run] = await runs.list(thread_id);
      expect(run).toMatchObject({
        metadata: secret('run'),
        kwargs: { config: { configurable: { token: canary('configurable') } } },
      });
      const again = await Array.fromAsync(
        runs.joinStream(thread_id, run!.run_id, { lastEventId: '-' }),
      );
      expect(
        again.filter(({ event }) => event === 'custom').map(({ data }) => data as unknown),
      ).toEqual([{ note: canary('input') }]);
      const { values } = await threads.getState<{ key: string; messages: unknown[] }>(thread_id);
      expect(values).toMatchObject({ note: canary('input'), key: 'not seen' });
      expect(values.messages).toHaveLength(2);

      const { liked: url } = events.find(({ event }) => event === 'feedback')!.data as {
        liked: string;
      };
      const given = {
        value: canary('value'),
        comment: canary('comment'),
        correction: { a: canary('correction') },
        metadata: secret('feedback'),
      };
      expect((await fetch(url, { method: 'POST', body: JSON.stringify(given) })).ok).toBe(true);
      expect(
        (await call(of().agent, 'GET', `/threads/${thread_id}/runs/${run!.run_id}/feedback`)).body,
      ).toMatchObject([given]);
    });

    test('questions and their answers', async () => {
      const { runs, threads } = of().agent.client;
      await threads.create({ threadId: asked_id });
      await runs.wait(asked_id, 'keeps', { input: { note: canary('asked'), asks: true } });
      const { interrupts } = await threads.get(asked_id);
      expect(JSON.stringify(interrupts)).toContain(`May I keep ${canary('asked')}?`);
      expect(
        await runs.wait(asked_id, 'keeps', { command: { resume: canary('resume') } }),
      ).toMatchObject({ answer: canary('resume') });
    });

    test('a run on a thread of its own, and one that fails', async () => {
      const { runs, threads } = of().agent.client;
      expect(
        await runs.wait(null, 'keeps', {
          input: { note: canary('alone') },
          metadata: secret('alone'),
        }),
      ).toMatchObject({
        note: canary('alone'),
      });
      const failing = await threads.create();
      const result = await runs.wait(failing.thread_id, 'keeps', {
        input: { note: canary('failing'), fails: true },
        raiseError: false,
      });
      expect(result).toMatchObject({ __error__: { message: `can't keep ${canary('failing')}` } });
      expect((await call(of().agent, 'GET', `/threads/${failing.thread_id}`)).body).toMatchObject({
        error: { message: `can't keep ${canary('failing')}` },
      });
    });

    test('a thread of many steps, whose older ones are packed and then pruned', async () => {
      const { runs, threads } = of().agent.client;
      const { thread_id: long } = await threads.create();
      for (const round of [1, 2])
        await runs.wait(long, 'keeps', {
          input: { note: canary('packed'), left: 40, messages: [] },
          config: { recursion_limit: 100, tags: [String(round)] },
        });
      const history = await threads.getHistory<{ note?: string }>(long, { limit: 200 });
      expect(history.length).toBeGreaterThan(80);
      expect(new Set(history.map(({ values }) => values.note))).toEqual(
        new Set([canary('packed'), undefined]),
      );
      expect(
        (
          await call(of().agent, 'POST', '/threads/prune', {
            thread_ids: [long],
            strategy: 'keep_latest',
          })
        ).status,
      ).toBe(200);
      expect((await threads.getState<{ note: string }>(long)).values.note).toBe(canary('packed'));
    });

    test('items of the store, by clients and by graphs', async () => {
      const { store } = of().agent.client;
      await store.putItem(['notes'], 'one', { note: canary('item') });
      expect((await store.getItem(['notes'], 'one'))?.value).toEqual({ note: canary('item') });
      const { items } = await store.searchItems(['notes']);
      expect(items.map(({ key, value }) => [key, value['note']])).toContainEqual([
        'one',
        canary('item'),
      ]);
      expect(items.map(({ key }) => key).toSorted()).toEqual(['of-graph', 'one']);
    });

    test('crons', async () => {
      const cron = await of().agent.client.crons.create('keeps', {
        schedule: '0 0 1 1 *',
        input: { note: canary('cron') },
        config: { configurable: { token: canary('cron-config') } },
        webhook: `${of().receiver.url}/cron?token=${canary('cron-webhook')}`,
        metadata: secret('cron'),
      });
      const context = { secret: canary('cron-context') };
      await of().agent.client.crons.create('keeps', {
        schedule: '0 0 1 1 *',
        context,
        metadata: { plain: 'of context' },
      });
      expect(
        await of().agent.client.crons.search({ metadata: { plain: 'of context' } }),
      ).toMatchObject([{ payload: { context } }]);
      expect(cron).toMatchObject({
        metadata: secret('cron'),
        payload: { input: { note: canary('cron') } },
      });
      expect(await of().agent.client.crons.search({ metadata: { plain: 'seen' } })).toMatchObject([
        { payload: { input: { note: canary('cron') } } },
      ]);
    });

    test('webhooks: where they go, and what they say, while they wait to be sent again', async () => {
      const { thread_id: own } = await of().agent.client.threads.create();
      await of().agent.client.runs.wait(own, 'keeps', {
        input: { note: canary('told') },
        metadata: secret('told'),
        webhook: of().receiver.url + FAILS,
      });
      const [told] = await until('the webhook is tried', async () =>
        of().receiver.at(FAILS).length > 0 ? of().receiver.at(FAILS) : undefined,
      );
      expect(told!.body).toMatchObject({
        values: { note: canary('told') },
        kwargs: { input: { note: canary('told') } },
        metadata: secret('told'),
      });
    });

    test('calls of tools, tasks, their questions, and whom they tell', async () => {
      const arguments_ = {
        note: canary('tool'),
        messages: [{ role: 'user', content: canary('tool-message') }],
      };
      const called = await fetch(`${of().agent.url}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify(rpc('tools/call', { name: 'keeps', arguments: arguments_ })),
      });
      expect(await called.text()).toContain(canary('tool'));
      const calls = a2aCalls(of().agent);
      const url = of().receiver.url + FAILS;
      const authentication = { scheme: 'Bearer', credentials: canary('push-credentials') };
      const configuration = {
        taskPushNotificationConfig: { url, token: canary('push-token'), authentication },
      };
      const given = { note: canary('task'), asks: true };
      const asked = await calls.send('keeps', {
        ...dataMessage(given, { metadata: secret('task') }),
        configuration,
      });
      expect(asked.status.message?.parts[0]?.text).toContain(canary('task'));
      const done = await calls.send(
        'keeps',
        textMessage(canary('task-answer'), { taskId: asked.id }),
      );
      expect(JSON.stringify(done.artifacts)).toContain(canary('task-answer'));
      const mine = (): { headers: object; body: unknown }[] =>
        of()
          .receiver.at(FAILS)
          .filter(({ text }) => text.includes(asked.id));
      const [told] = await until('the receiver is tried', () =>
        mine().length > 0 ? mine() : undefined,
      );
      expect(told).toMatchObject({
        headers: {
          'x-a2a-notification-token': canary('push-token'),
          authorization: `Bearer ${canary('push-credentials')}`,
        },
      });
    });

    test('event streaming, and the answer to its question', async () => {
      const { thread_id: own } = await of().agent.client.threads.create();
      const thread = new WireThread(of().agent.url, own);
      const started = await thread.command('run.start', {
        assistant_id: 'keeps',
        input: { note: canary('protocol'), asks: true },
      });
      expect(started).toMatchObject({ type: 'success' });
      const channels = ['values', 'messages', 'input', 'lifecycle'];
      const events = await thread.read({ channels }, ({ method }) => method === 'input.requested');
      expect(JSON.stringify(events)).toContain(canary('protocol'));
      const { interrupt_id } = events.at(-1)!.params.data;
      const answer = { interrupt_id, response: canary('respond'), namespace: [] };
      expect(await thread.command('input.respond', answer)).toMatchObject({ type: 'success' });
      const { since } = { since: events.at(-1)!.seq };
      const later = await thread.read(
        { channels, since },
        ({ method, params }) => method === 'lifecycle' && params.data['event'] === 'completed',
      );
      expect(JSON.stringify(later)).toContain(canary('respond'));
    });
  });

/** Text that shows the canaries' word: as it is, in hexadecimal form, or in base64, wherever a group of it begins. */
const SIGNS = [
  WORD,
  Buffer.from(WORD).toString('hex'),
  ...[0, 1, 2].map((shift) => {
    const text = Buffer.from(`${'x'.repeat(shift)}${WORD}`).toString('base64');
    // Characters that other bytes have a part in are left out.
    return text.slice(shift === 0 ? 0 : shift + 1, Math.floor(((shift + WORD.length) * 8) / 6));
  }),
];
const betrays = (text: string): boolean => SIGNS.some((sign) => text.includes(sign));

/** Reads all rows of all tables as text, in which bytes are hexadecimal. */
async function dump(database: string): Promise<Map<string, string[]>> {
  const client = new Client({ connectionString: database });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables where schemaname in ('gx', 'pgboss')`,
    );
    const rows = new Map<string, string[]>();
    for (const { name } of tables.rows) {
      const { rows: found } = await client.query<{ text: string }>(
        `select t::text as text from ${name} t`,
      );
      rows.set(
        name,
        found.map(({ text }) => text),
      );
    }
    await client.query('checkpoint');
    return rows;
  } finally {
    await client.end();
  }
}

/** Returns the rows of all tables that show a canary, each with the name of its table. */
export const betrayingRows = async (database: string): Promise<string[]> =>
  [...(await dump(database))].flatMap(([name, texts]) =>
    texts.filter(betrays).map((text) => `${name}: ${text.slice(0, 1500)}`),
  );

/** Returns the bytes of a file as text; none of one that the server has removed meanwhile. */
function textIn(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** Looks for the canaries wherever the database keeps something. */
export const nothingIsFound = (of: () => Encrypted): unknown =>
  describe('nothing of it is found', () => {
    test('in any table', async () => {
      const rows = await dump(of().database);
      const filled = [...rows].filter(([, texts]) => texts.length > 0).map(([name]) => name);
      for (const name of [
        'checkpoints',
        'checkpoint_blobs',
        'run',
        'thread',
        'stream_event',
        'store_item',
        'assistant',
        'cron',
        'feedback',
        'webhook',
      ])
        expect(filled).toContain(`gx.${name}`);
      expect(await betrayingRows(of().database)).toEqual([]);
      expect(rows.get('gx.thread')!.some((text) => text.includes('seen'))).toBe(true);
    });

    test('in the log of the database, which has every statement with its parameters, and in no file of its data', async () => {
      const home = realpathSync(path.join(of().folder, 'server'));
      const log = readFileSync(path.join(home, 'log'), 'utf8');
      expect(log).toMatch(/insert into gx\.store_item/);
      expect(log.split('\n').filter(betrays)).toEqual([]);
      const files = readdirSync(path.join(home, 'data'), {
        recursive: true,
        withFileTypes: true,
      }).filter((entry) => entry.isFile());
      expect(files.length).toBeGreaterThan(100);
      const found = files
        .map((entry) => path.join(entry.parentPath, entry.name))
        .filter((file) => betrays(textIn(file)));
      expect(found).toEqual([]);
    });

    test('in the log of the server, which has where a run failed', () => {
      const lines = of().agent.output().split('\n');
      expect(lines.filter(betrays)).toEqual([]);
      const failed = lines
        .filter((line) => line.includes('"run failed"'))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(failed).toContainEqual(
        expect.objectContaining({
          level: 'error',
          node: 'count',
          at: expect.stringMatching(/keeps\.(ts|py):\d+$/) as string,
          err: expect.objectContaining({
            message: 'its message is encrypted',
            stack: expect.stringContaining('keeps.') as string,
          }) as object,
        }),
      );
    });

    test('but it would be, if it was there', async () => {
      for (const padding of ['', 'x', 'xx'])
        expect(betrays(Buffer.from(`${padding}${WORD}${padding}`).toString('base64'))).toBe(true);
      await of().agent.client.threads.create({ metadata: { plain: canary('plain') } });
      expect([...(await dump(of().database)).values()].flat().some(betrays)).toBe(true);
    });
  });
