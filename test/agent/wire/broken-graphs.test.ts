import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* A graph can only harm its own run. The server, its threads and the other runs go on. */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  const env = {
    GX_WORKER_HEAP_MB: '160',
    GX_WORKER_THREADS: '1',
    GX_LOG_LEVEL: 'warn',
    BG_JOB_MAX_RETRIES: '2',
  };
  agent = await startAgent({ database: database.uri, env });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Body = { __error__?: { error: string; message: string }; result?: unknown; run_id?: string };

const post = async (path: string, body: unknown): Promise<Body> => {
  const response = await fetch(`${agent.url}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
};
const broken = (how: string): Promise<Body> =>
  post('/runs/wait', { assistant_id: 'broken', input: { how }, stream_mode: ['values', 'custom'] });
const chat = {
  assistant_id: 'chat',
  input: { messages: [{ role: 'human', content: 'still there?' }] },
};
const goesOn = async (): Promise<void> => {
  expect(JSON.stringify(await post('/runs/wait', chat))).toContain('I hear you well.');
  expect((await fetch(`${agent.url}/ok`)).status).toBe(200);
};

describe('a graph that', () => {
  test.each([
    ['throws a text', 'text', 'not an error'],
    ['throws nothing', 'nothing', 'undefined'],
    ['throws null', 'null', 'null'],
    ['throws a symbol', 'symbol', 'Symbol(a sign)'],
    ['throws a promise that fails', 'promise', '[object Promise]'],
    ['throws what defends itself', 'hostile', 'do not touch'],
    ['rejects with nothing', 'rejects with nothing', 'undefined'],
    ['throws a circle', 'thrown circle', '[object Object]'],
    [
      'throws what can not be printed',
      'unprintable',
      /^The graph (threw something|raised an error) that can not be printed\.$/,
    ],
    ['ends the process', 'exit', /^(process\.exit\(1\)|sys\.exit) was called/],
    ['returns a circle', 'circle', /circular/i],
    [
      'returns a number that can not be stored',
      'bigint',
      /^The value of "result" can not be stored: /,
    ],
  ])('%s fails alone, with a sentence', async (_what, how, message) => {
    const neighbour = post('/runs/wait', { assistant_id: 'steps', input: { left: 3, pause: 50 } });
    const { __error__: error } = await broken(how);
    expect(error?.message).toMatch(message);
    expect(await neighbour).toMatchObject({ done: 3 });
    await goesOn();
  });

  test.each([
    ['a circle', 'written circle', /circular/i],
    ['something that fails when it is told', 'written trap', /not to be told/],
  ])(
    'writes %s to its stream fails where that is read, with a sentence',
    async (_what, how, message) => {
      const body = { assistant_id: 'broken', input: { how }, stream_mode: ['values', 'custom'] };
      const stream = await fetch(`${agent.url}/runs/stream`, {
        method: 'POST',
        body: JSON.stringify(body),
      });
      const told = await stream.text();
      expect(told).toMatch(/^event: error/m);
      expect(told).toMatch(message);
      expect((await broken(how)).__error__).toBeUndefined();
      await goesOn();
    },
  );

  test.each([
    ['a function', 'function', {}],
    ['characters that the database does not hold', 'characters', 'ab\ufffdc'],
  ])('returns %s has a result all the same', async (_what, how, result) => {
    const { thread_id } = await agent.client.threads.create();
    const body = await post(`/threads/${thread_id}/runs/wait`, {
      assistant_id: 'broken',
      input: { how },
    });
    expect(body.__error__).toBeUndefined();
    expect((await agent.client.threads.get(thread_id)).values).toMatchObject({ result });
    await goesOn();
  });

  test('fails after its run has ended is told in the log, and ends no thread', async () => {
    expect(await broken('late')).toMatchObject({ result: 'done' });
    await until(
      'both are in the log',
      () =>
        Promise.resolve(
          /nobody waited/.test(agent.output()) && /nobody catches/.test(agent.output()),
        ),
      60,
    );
    expect(agent.output()).not.toMatch(/threads of the graphs ended/);
    await goesOn();
  });

  test('never ends can be cancelled', async () => {
    const { thread_id } = await agent.client.threads.create();
    const run = await agent.client.runs.create(thread_id, 'broken', { input: { how: 'never' } });
    await until(
      'it runs',
      async () => (await agent.client.runs.get(thread_id, run.run_id)).status === 'running',
    );
    await agent.client.runs.cancel(thread_id, run.run_id, true);
    expect((await agent.client.runs.get(thread_id, run.run_id)).status).toBe('interrupted');
    await goesOn();
  });

  test.each([
    ['eats all memory', 'memory'],
    ['ends its thread', 'die'],
  ])(
    '%s is given up after the two lives that are set, and costs its neighbours none',
    async (_what, how) => {
      const body = { assistant_id: 'steps', input: { left: 8, pause: 150 }, on_completion: 'keep' };
      const neighbours = Array.from({ length: 4 }, async () => (await post('/runs', body)).run_id);
      const ids = await Promise.all(neighbours);
      expect(await broken(how)).toMatchObject({
        __error__: {
          error: 'WorkerLost',
          message: expect.stringMatching(/failed after 2 attempts/) as string,
        },
      });
      const rows = await until('the neighbours are done', async () => {
        const found = await database.sql('select status, lost from gx.run where run_id = any($1)', [
          ids,
        ]);
        return found.every(({ status }) => status === 'success') && found;
      });
      expect(rows.map(({ lost }) => lost)).toEqual(ids.map(() => 0));
      await goesOn();
    },
    180_000,
  );
});
