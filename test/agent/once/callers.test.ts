import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { post, type Answer } from './keyed.ts';

/* Requests that come again, of callers who see their own records alone. */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/auth/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const ask = (token: string, path: string, body: unknown, key: string): Promise<Answer> =>
  post(agent, path, body, { authorization: `Bearer ${token}`, 'idempotency-key': key });
const run = { assistant_id: 'who', input: { said: 'hi' }, after_seconds: 60 };

test.each([
  ['/runs', run, 'run_id'],
  ['/runs/batch', [run], '0'],
  ['/threads', {}, 'thread_id'],
  ['/runs/crons', { assistant_id: 'who', schedule: '0 0 1 1 *' }, 'cron_id'],
])('a key of one caller is none of another: %s', async (path, body, name) => {
  const key = randomUUID();
  const idOf = ({ body: made }: Answer): unknown =>
    name === '0' ? (made as unknown as { run_id: string }[])[0]!.run_id : made[name];
  const [ann, again, carl] = [
    await ask('ann', path, body, key),
    await ask('ann', path, body, key),
    await ask('carl', path, body, key),
  ];
  expect([ann, again, carl].map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(idOf(again)).toBe(idOf(ann));
  expect(idOf(carl)).not.toBe(idOf(ann));
});

test('a message of one agent is none of another', async () => {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ data: { said: 'hi' } }] };
  const send = async (token: string): Promise<string> => {
    const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
    const { body: answer } = await post(agent, '/a2a/who', body, {
      authorization: `Bearer ${token}`,
      'a2a-version': '1.0',
    });
    return (answer['result'] as { task: { id: string } }).task.id;
  };
  const [ann, carl] = [await send('ann'), await send('carl')];
  expect(carl).not.toBe(ann);
  expect(await send('ann')).toBe(ann);
});

test('who may no longer see what the first request made is told as if it were gone', async () => {
  const key = randomUUID();
  const { thread_id } = (await ask('ann', '/threads', {}, key)).body;
  expect((await ask('ann!threads:read', '/threads', {}, key)).status).toBe(403);
  await database.sql(`update gx.thread set metadata = '{"owner": "carl"}' where thread_id = $1`, [
    thread_id,
  ]);
  expect((await ask('ann', '/threads', {}, key)).status).toBe(410);
});
