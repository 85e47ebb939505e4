import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* What one caller, and all callers together, may ask of a deployment. */

let database: TestDatabase;
let agent: AgentProcess;
beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    env: {
      N_JOBS_PER_WORKER: '0',
      GX_MAX_RECURSION_LIMIT: '50',
      GX_MAX_QUEUED_RUNS: '3',
      GX_STREAMS_PER_CALLER: '2',
      GX_RUNS_PER_MINUTE: '30',
      GX_LOG_LEVEL: 'error',
    },
  });
});
afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Answer = { status: number; after: number; detail: string };
async function post(path: string, body: unknown): Promise<Answer> {
  const response = await fetch(`${agent.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { detail = '' } = (await response.json()) as { detail?: string };
  return { status: response.status, after: Number(response.headers.get('retry-after')), detail };
}

const run = (more: object = {}): Promise<Answer> =>
  post('/runs', { assistant_id: 'steps', input: { left: 1 }, ...more });

test('more steps than a run may take are refused by name, also through its assistant', async () => {
  const refused = {
    status: 422,
    detail: 'body.config.recursion_limit: must be at most 50 (GX_MAX_RECURSION_LIMIT)',
  };
  expect(await run({ config: { recursion_limit: 51 } })).toMatchObject(refused);
  const { assistant_id } = await agent.client.assistants.create({
    graphId: 'steps',
    config: { recursion_limit: 2_147_483_647 },
  });
  expect(await run({ assistant_id })).toMatchObject(refused);
});

test('a longer list than a body may hold is refused', async () => {
  const ids = Array.from({ length: 1001 }, () => '00000000-0000-4000-8000-000000000000');
  expect(await post('/threads/search', { ids })).toMatchObject({
    status: 422,
    detail: 'body.ids: must NOT have more than 1000 items',
  });
  const runs = Array.from({ length: 1001 }, () => ({ assistant_id: 'steps' }));
  expect(await post('/runs/batch', runs)).toMatchObject({ status: 422 });
});

test('feedback, which anybody may send, is refused above 64 KiB', async () => {
  const path = `/feedback/tokens/${crypto.randomUUID()}`;
  expect(await post(path, { score: 1 })).toMatchObject({ status: 404 });
  expect(await post(path, { value: 'x'.repeat(64 * 1024) })).toMatchObject({ status: 413 });
});

test('no more runs wait than the deployment takes, and room is made when they go', async () => {
  const made = [await run(), await run(), await run()].map(({ status }) => status);
  expect(made).toEqual([200, 200, 200]);
  const full = await run();
  expect([full.status, full.after > 0]).toEqual([429, true]);
  expect(await post('/runs/batch', [{ assistant_id: 'steps' }])).toMatchObject({ status: 429 });
  await database.sql("update gx.run set status = 'interrupted' where status = 'pending'");
  await expect.poll(async () => (await run()).status).toBe(200);
});

describe('one caller', () => {
  test('has so many streams open, of any kind, and more when one ends', async () => {
    const { thread_id } = await agent.client.threads.create();
    const leaving = [new AbortController(), new AbortController()];
    const open = (signal: AbortSignal): Promise<Response> =>
      fetch(`${agent.url}/threads/${thread_id}/stream`, { signal });
    const streams = await Promise.all(leaving.map(({ signal }) => open(signal)));
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    const third = await open(new AbortController().signal);
    expect([third.status, Number(third.headers.get('retry-after')) > 0]).toEqual([429, true]);
    const socket = new WebSocket(
      `${agent.url.replace('http', 'ws')}/threads/${thread_id}/stream/events`,
    );
    const closed = await new Promise<number>((resolve) =>
      socket.addEventListener('close', ({ code }) => resolve(code)),
    );
    expect(closed).toBe(4429);
    leaving[0]!.abort();
    await expect
      .poll(
        async () =>
          (await fetch(`${agent.url}/threads/${thread_id}/stream`, { signal: leaving[1]!.signal }))
            .status,
      )
      .toBe(200);
    leaving[1]!.abort();
  });

  test('waits for so many runs, which count as its streams', async () => {
    const { thread_id } = await agent.client.threads.create();
    const leaving = new AbortController();
    const { signal } = leaving;
    const open = (path: string): Promise<Response> => fetch(`${agent.url}${path}`, { signal });
    const streams = await Promise.all([
      open(`/threads/${thread_id}/stream`),
      open(`/threads/${thread_id}/stream`),
    ]);
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    const body = { assistant_id: 'steps', input: { left: 1 } };
    for (const path of ['/runs/wait', `/threads/${thread_id}/runs/wait`]) {
      const refused = await post(path, body);
      expect([refused.status, refused.after > 0]).toEqual([429, true]);
    }
    expect((await open(`/threads/${thread_id}/runs/${thread_id}/join`)).status).toBe(429);
    // Nothing was started.
    expect(await agent.client.runs.list(thread_id)).toEqual([]);
    leaving.abort();
    await expect
      .poll(
        async () =>
          (await fetch(`${agent.url}/threads/${thread_id}/runs/${thread_id}/join`)).status,
      )
      .toBe(404);
  });

  test('starts so many runs a minute, whatever becomes of them', async () => {
    const statuses: number[] = [];
    for (let count = 0; count < 40; count += 1) statuses.push((await run()).status);
    const last = await run();
    expect([last.status, last.detail, last.after > 0]).toEqual([
      429,
      'More than 30 runs a minute; try again later.',
      true,
    ]);
    expect((await post('/threads', {})).status).toBe(200);
  });
});
