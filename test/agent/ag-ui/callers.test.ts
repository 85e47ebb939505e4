import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { newInput, post, readEvents, typesOf } from './kit.ts';

/* Handlers of `auth.path` decide over this door as over the others: the thread of another caller is not there. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

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

const as = (token: string | undefined, path: string, body: object): Promise<Response> =>
  post(
    `${agent.url}/ag-ui/approval${path}`,
    body,
    token === undefined ? {} : { authorization: `Bearer ${token}` },
  );

test("the thread of another caller can't be run on, read or stopped", async () => {
  const threadId = randomUUID();
  const state = { request: 'go' };
  const first = await as('ann', '', newInput('hello', { threadId, state }));
  expect([first.status, typesOf(readEvents(await first.text())).at(-1)]).toEqual([
    200,
    'RUN_FINISHED',
  ]);
  for (const [path, body] of [
    ['', newInput('hello', { threadId, state })],
    ['/connect', newInput('hello', { threadId })],
    ['/stop', { threadId }],
  ] as const) {
    const answer = await as('bob', path, body);
    expect([path, answer.status]).toEqual([path, 404]);
    expect(answer.headers.get('content-type')).toContain('application/json');
  }
  const again = await as('ann', '/connect', newInput('hello', { threadId }));
  expect(again.status).toBe(200);
});

test('a handler that refuses runs refuses those of this door, before a stream begins', async () => {
  expect(
    (await as('cleo!threads:create_run', '', newInput('hello', { state: { request: 'go' } })))
      .status,
  ).toBe(403);
  expect((await as(undefined, '', newInput('hello'))).status).toBe(401);
});
