import { createHmac } from 'node:crypto';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* Webhooks that call routes of http.app, where gx.json lets them. */

const KEY = Buffer.from('0123456789abcdef0123456789abcdef');
const env = { GX_WEBHOOK_SECRET: `whsec_${KEY.toString('base64')}` };

type Heard = { path: string; headers: Record<string, string>; text: string; user: unknown };
type WebhookStatus = { state: string; attempts: number; last_error: string | null };

/**
 * Starts a server of this configuration for the tests of a group. It has a database of its own, because servers that
 * share one send each other's webhooks, and here they have different rules.
 */
function serving(
  name: string,
  prefix = '',
): { client: (token?: string) => Client; heard(): Promise<Heard[]> } {
  let agent: AgentProcess;
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  beforeAll(async () => {
    database = await freshDatabase();
    agent = await startAgent({
      database: database.uri,
      config: `test/agent/custom-routes/graphs/${name}.json`,
      env,
    });
  });
  afterAll(async () => {
    await agent.kill();
    await database.drop();
  });
  const headersOf = (token?: string): Record<string, string> =>
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    client: (token) =>
      new Client({
        apiUrl: agent.url + prefix,
        apiKey: null,
        callerOptions: { maxRetries: 0 },
        defaultHeaders: headersOf(token),
      }),
    heard: async () =>
      (await (
        await fetch(`${agent.url}${prefix}/heard`, { headers: headersOf('ann') })
      ).json()) as Heard[],
  };
}

async function told(
  client: Client,
  webhook: string,
): Promise<{ run_id: string; webhook_status: WebhookStatus }> {
  const { thread_id } = await client.threads.create();
  const { run_id } = await client.runs.create(thread_id, 'steps', { input: { left: 1 }, webhook });
  return until('the webhook is settled', async () => {
    const run = (await client.runs.get(thread_id, run_id)) as unknown as {
      run_id: string;
      webhook_status: WebhookStatus;
    };
    return run.webhook_status.state === 'pending' ? undefined : run;
  });
}

const refusal = async (client: Client, webhook: string): Promise<string> =>
  client.runs.wait(null, 'steps', { input: { left: 1 }, webhook }).then(
    () => 'accepted',
    (error: Error) => error.message,
  );

describe('where gx.json lets webhooks call this machine', () => {
  const { client, heard } = serving('told', '/agents');

  test.each(['/hooks/done', '/agents/hooks/prefixed?of=tests'])(
    '%s, a route of the application, is told the end of a run',
    async (path) => {
      const { run_id, webhook_status } = await told(client(), path);
      expect(webhook_status).toEqual({ state: 'sent', attempts: 1, last_error: null });
      const { headers, text, path: called } = (await heard()).at(-1)!;
      expect(called).toBe(path.replace('/agents', '').split('?')[0]);
      expect(JSON.parse(text)).toMatchObject({
        run_id,
        status: 'success',
        values: { left: 0, done: 1 },
      });
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': run_id });
      const signed = `${run_id}.${headers['webhook-timestamp']}.${text}`;
      expect(headers['webhook-signature']).toBe(
        `v1,${createHmac('sha256', KEY).update(signed).digest('base64')}`,
      );
    },
  );

  test('one that fails is called again', async () => {
    expect((await told(client(), '/hooks/fails-once')).webhook_status).toEqual({
      state: 'sent',
      attempts: 2,
      last_error: null,
    });
  });

  test.each([
    ['a built-in route', '/threads'],
    ['a built-in route with the prefix', '/agents/runs/wait'],
    ['a built-in route of another method', '/info'],
    ['a built-in route that the application has, too', '/threads/count'],
    ['a page of the server', '/openapi.json'],
    ['a way around', '/hooks/../threads'],
    ['an encoded way around', '/hooks/%2e%2e/threads'],
    ['another machine', '//127.0.0.1/hooks/done'],
    ['another machine, spelt otherwise', '/\\127.0.0.1/hooks/done'],
    ['a route that takes no POST', '/heard'],
    ['middleware alone', '/mine/x'],
    ['nothing', '/nowhere'],
  ])('%s is refused', async (_, path) => {
    expect(await refusal(client(), path)).toContain('422');
  });
});

describe('the call has no rights of the server', () => {
  const guarded = serving('told-guarded');

  test('a route that asks who calls refuses it', async () => {
    const { webhook_status } = await told(guarded.client('ann'), '/hooks/done');
    expect(webhook_status).toEqual({
      state: 'failed',
      attempts: 1,
      last_error: 'The receiver answered 401.',
    });
    expect(await guarded.heard()).toEqual([]);
  });

  const open = serving('told-open');

  test('a route that passes it on to built-in ones gets no further than a stranger', async () => {
    expect((await told(open.client('ann'), '/hooks/done')).webhook_status.state).toBe('sent');
    const { webhook_status } = await told(open.client('ann'), '/forwards');
    expect(webhook_status).toEqual({
      state: 'failed',
      attempts: 1,
      last_error: 'The receiver answered 401.',
    });
    expect(await open.client('ann').threads.search({ metadata: { by: 'a hook' } })).toEqual([]);
  });
});

describe('by default', () => {
  const { client } = serving('told-by-default');

  test('a route of the application is refused', async () => {
    expect(await refusal(client(), '/hooks/done')).toContain('must be an absolute URL');
  });
});
