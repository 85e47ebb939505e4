import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
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

const as = (token: string | undefined, route: string, body: object): Promise<Response> =>
  post(
    `${agent.url}${route}`,
    body,
    token === undefined ? {} : { authorization: `Bearer ${token}` },
  );

test("the thread of another caller can't be run on, read or stopped", async () => {
  const threadId = randomUUID();
  const state = { request: 'go' };
  const first = await as('ann', '/ag-ui/approval', newInput('hello', { threadId, state }));
  expect([first.status, typesOf(readEvents(await first.text())).at(-1)]).toEqual([
    200,
    'RUN_FINISHED',
  ]);
  for (const [route, body] of [
    ['/ag-ui/approval', newInput('hello', { threadId, state })],
    ['/ag-ui/approval/connect', newInput('hello', { threadId })],
    ['/ag-ui/approval/stop', { threadId }],
    ['/copilotkit/agent/approval/run', newInput('hello', { threadId, state })],
    ['/copilotkit/agent/approval/connect', newInput('hello', { threadId })],
    [`/copilotkit/agent/approval/stop/${threadId}`, {}],
  ] as const) {
    const answer = await as('bob', route, body);
    expect([route, answer.status]).toEqual([route, 404]);
    expect(answer.headers.get('content-type')).toContain('application/json');
  }
  const again = await as('ann', '/ag-ui/approval/connect', newInput('hello', { threadId }));
  expect(again.status).toBe(200);
});

test('a handler that refuses runs refuses those of this door, before a stream begins', async () => {
  expect(
    (
      await as(
        'cleo!threads:create_run',
        '/ag-ui/approval',
        newInput('hello', { state: { request: 'go' } }),
      )
    ).status,
  ).toBe(403);
  expect((await as(undefined, '/ag-ui/approval', newInput('hello'))).status).toBe(401);
});

test("a page of another origin can't act by a visitor's cookies", async () => {
  const page = { origin: 'https://elsewhere.example.com', cookie: 'session=1' };
  for (const [route, body] of [
    ['/ag-ui/approval', newInput('hello', { state: { request: 'go' } })],
    ['/ag-ui/approval/connect', newInput('hello')],
    ['/ag-ui/approval/stop', { threadId: randomUUID() }],
    ['/copilotkit/agent/approval/run', newInput('hello', { state: { request: 'go' } })],
  ] as const) {
    const headers = { ...page, authorization: 'Bearer ann' };
    const answer = await post(agent.url + route, body, headers);
    expect([route, answer.status]).toEqual([route, 403]);
    expect(await answer.text()).toContain('http.cors.allow_origins');
  }
});

test('a stream whose key is withdrawn ends with an error that says so, and its run with it', async () => {
  const [first, second] = [`gxa_${'k'.repeat(43)}`, `gxa_${'n'.repeat(43)}`];
  const folder = mkdtempSync(path.join(tmpdir(), 'gx-key-'));
  const setKey = (key: string): void => writeFileSync(path.join(folder, 'api-key'), key);
  setKey(first);
  const guarded = await startAgent({
    database: database.uri,
    config: 'test/agent/ag-ui/graphs/gx.json',
    env: { GX_AGENT_KEY_FOLDER: folder, GX_AUTH_CHECK_SECS: '1' },
  });
  try {
    const threadId = randomUUID();
    const answer = await post(
      `${guarded.url}/ag-ui/chat`,
      newInput('slow slow slow', { threadId }),
      {
        'x-api-key': first,
      },
    );
    setKey(second);
    const began = performance.now();
    const events = readEvents(await answer.text());
    expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'unauthorized' });
    expect(performance.now() - began).toBeLessThan(5000);
    const runs = await fetch(`${guarded.url}/threads/${threadId}/runs`, {
      headers: { 'x-api-key': second },
    });
    expect(await runs.json()).toMatchObject([{ status: 'interrupted' }]);
  } finally {
    await guarded.kill();
    rmSync(folder, { recursive: true });
  }
});
