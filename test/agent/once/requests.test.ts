import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { keyed, post, runIdOf, type Answer, type Json } from './keyed.ts';

/* Requests that come again with the same Idempotency-Key, to either of two processes of a deployment. */

let database: TestDatabase;
let one: AgentProcess;
let other: AgentProcess;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gx-once-'));
  database = await freshDatabase();
  [one, other] = await Promise.all([
    startAgent({ database: database.uri }),
    startAgent({ database: database.uri }),
  ]);
});

afterAll(async () => {
  await Promise.all([one.kill(), other.kill()]);
  await database.drop();
  rmSync(folder, { recursive: true });
});

const newThread = async (): Promise<string> => (await one.client.threads.create()).thread_id;
const steps = (input: object, more: object = {}): Json => ({
  assistant_id: 'steps',
  input,
  ...more,
});
const LATER = steps({ left: 1 }, { after_seconds: 3600 });
const CRON = { assistant_id: 'steps', schedule: '0 0 1 1 *' };

const count = async (table: string, where = 'true'): Promise<number> =>
  (
    await database.sql<{ count: number }>(
      `select count(*)::int as count from gx.${table} where ${where}`,
    )
  )[0]!.count;

/** What can be made: the path for a thread, the body, the table in which it is found, and its ids in an answer. */
type Made = {
  what: string;
  path: (thread: string) => string;
  body: unknown;
  table: string;
  ids: (body: Json) => unknown;
};

const idOf =
  (name: string) =>
  (body: Json): unknown =>
    body[name];
const MADE: Made[] = [
  {
    what: 'a run on a thread',
    path: (id) => `/threads/${id}/runs`,
    body: LATER,
    table: 'run',
    ids: idOf('run_id'),
  },
  {
    what: 'a run on a thread of its own',
    path: () => '/runs',
    body: LATER,
    table: 'run',
    ids: idOf('run_id'),
  },
  {
    what: 'several runs',
    path: () => '/runs/batch',
    body: [LATER, LATER],
    table: 'run',
    ids: (body) => (body as unknown as Json[]).map((run) => run['run_id']),
  },
  {
    what: 'a thread',
    path: () => '/threads',
    body: { metadata: { of: 'mine' } },
    table: 'thread',
    ids: idOf('thread_id'),
  },
  {
    what: 'a copy of a thread',
    path: (id) => `/threads/${id}/copy`,
    body: undefined,
    table: 'thread',
    ids: idOf('thread_id'),
  },
  { what: 'a cron', path: () => '/runs/crons', body: CRON, table: 'cron', ids: idOf('cron_id') },
  {
    what: 'a cron of a thread',
    path: (id) => `/threads/${id}/runs/crons`,
    body: CRON,
    table: 'cron',
    ids: idOf('cron_id'),
  },
  {
    what: 'a run by a command',
    path: (id) => `/threads/${id}/commands`,
    body: { id: 1, method: 'run.start', params: { assistant_id: 'steps', input: { left: 1 } } },
    table: 'run',
    ids: ({ result }) => (result as Json)['run_id'],
  },
];

describe.each(MADE)('$what', ({ path, body, table, ids }) => {
  test('is made once by twenty requests at one moment, to two processes', async () => {
    const [at, key, before] = [path(await newThread()), randomUUID(), await count(table)];
    const twenty = Array.from({ length: 20 }, (_, place) =>
      keyed(place % 2 === 0 ? one : other, at, body, key),
    );
    const answers = await Promise.all(twenty);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map((answer) => JSON.stringify(ids(answer.body)))).size).toBe(1);
    expect((await count(table)) - before).toBe([body].flat().length);
  });

  test('is another one with another key, and without one', async () => {
    const at = path(await newThread());
    const all = [
      await keyed(one, at, body, randomUUID()),
      await keyed(one, at, body, randomUUID()),
      await post(one, at, body),
      await post(one, at, body),
    ];
    expect(new Set(all.map((answer) => JSON.stringify(ids(answer.body)))).size).toBe(4);
  });
});

describe('a repetition', () => {
  const refusal = ({ status, body }: Answer): unknown => [status, body['detail']];
  const REUSED = [422, 'header.Idempotency-Key: was used for another request'];

  test('is the same request though its fields come in another order', async () => {
    const [thread, key] = [await newThread(), randomUUID()];
    const first = await keyed(
      one,
      `/threads/${thread}/runs`,
      { assistant_id: 'steps', after_seconds: 60, input: { left: 1, pause: 2 } },
      key,
    );
    const again = await keyed(
      one,
      `/threads/${thread}/runs`,
      { input: { pause: 2, left: 1 }, after_seconds: 60, assistant_id: 'steps' },
      key,
    );
    expect([again.status, again.body['run_id']]).toEqual([200, first.body['run_id']]);
    expect(runIdOf(again)).toBe(first.body['run_id']);
  });

  test('with another body is refused, and makes nothing', async () => {
    const [thread, key] = [await newThread(), randomUUID()];
    await keyed(one, `/threads/${thread}/runs`, LATER, key);
    for (const left of [2, 3]) {
      const changed = await keyed(
        other,
        `/threads/${thread}/runs`,
        { ...LATER, input: { left } },
        key,
      );
      expect(refusal(changed)).toEqual(REUSED);
    }
    expect(await count('run', `thread_id = '${thread}'`)).toBe(1);
    const [made, cron] = [randomUUID(), randomUUID()];
    await keyed(one, '/threads', { metadata: { a: 1 } }, made);
    expect(refusal(await keyed(one, '/threads', { metadata: { a: 2 } }, made))).toEqual(REUSED);
    await keyed(one, '/runs/crons', CRON, cron);
    expect(
      refusal(await keyed(one, '/runs/crons', { ...CRON, timezone: 'Europe/Berlin' }, cron)),
    ).toEqual(REUSED);
  });

  test('on another thread or another route is a request of its own', async () => {
    const [threads, key] = [[await newThread(), await newThread()], randomUUID()];
    const paths = [
      ...threads.map((id) => `/threads/${id}/runs`),
      '/runs',
      `/threads/${threads[0]}/runs/wait`,
    ];
    const made = [];
    for (const path of paths) made.push(runIdOf(await keyed(one, path, steps({ left: 1 }), key)));
    expect(new Set(made).size).toBe(paths.length);
  });

  test('neither stops nor is refused by the run that it made itself', async () => {
    for (const multitask_strategy of ['reject', 'interrupt', 'rollback']) {
      const [thread, key] = [await newThread(), randomUUID()];
      const body = steps({ left: 3, pause: 150 }, { multitask_strategy });
      const first = await keyed(one, `/threads/${thread}/runs`, body, key);
      const again = await Promise.all(
        [one, other].map((agent) => keyed(agent, `/threads/${thread}/runs`, body, key)),
      );
      expect(again.map((answer) => [answer.status, answer.body['run_id']])).toEqual(
        again.map(() => [200, first.body['run_id']]),
      );
      expect(await one.client.runs.join(thread, first.body['run_id'] as string)).toMatchObject({
        done: 3,
      });
    }
  });

  test('is answered with what there is now: a thread that has run since, a cron that was changed', async () => {
    const [key, cronKey] = [randomUUID(), randomUUID()];
    const thread = (await keyed(one, '/threads', {}, key)).body['thread_id'] as string;
    await one.client.runs.wait(thread, 'steps', { input: { left: 1 } });
    expect((await keyed(one, '/threads', {}, key)).body).toMatchObject({
      thread_id: thread,
      values: { done: 1 },
    });
    const cron = (await keyed(one, '/runs/crons', CRON, cronKey)).body['cron_id'] as string;
    await one.client.crons.update(cron, { enabled: false });
    expect((await keyed(one, '/runs/crons', CRON, cronKey)).body).toMatchObject({
      cron_id: cron,
      enabled: false,
    });
  });

  test('of what is gone is told so, and makes nothing', async () => {
    const asked: [path: string, body: unknown, remove: (made: Json) => Promise<unknown>][] = [
      [
        `/threads/${await newThread()}/runs`,
        LATER,
        ({ thread_id, run_id }) => one.client.runs.delete(thread_id as string, run_id as string),
      ],
      [
        `/threads/${randomUUID()}/runs`,
        { ...LATER, if_not_exists: 'create' },
        ({ thread_id }) => one.client.threads.delete(thread_id as string),
      ],
      ['/threads', {}, ({ thread_id }) => one.client.threads.delete(thread_id as string)],
      ['/runs/crons', CRON, ({ cron_id }) => one.client.crons.delete(cron_id as string)],
    ];
    for (const [path, body, remove] of asked) {
      const key = randomUUID();
      await remove((await keyed(one, path, body, key)).body);
      const before = [await count('run'), await count('thread'), await count('cron')];
      const { status, body: answer } = await keyed(other, path, body, key);
      expect([status, answer['detail']]).toEqual([
        410,
        expect.stringMatching(
          /^The (run|thread|cron) that the first request with this Idempotency-Key made is gone/,
        ),
      ]);
      expect([await count('run'), await count('thread'), await count('cron')]).toEqual(before);
    }
  });

  test('of a run on a thread of its own has the same result, from any process, and the run stays hidden', async () => {
    const [wait, stream] = [randomUUID(), randomUUID()];
    const first = await keyed(one, '/runs/wait', steps({ left: 1 }), wait);
    expect(first.body).toEqual({ left: 0, done: 1 });
    const events = await keyed(one, '/runs/stream', steps({ left: 1 }), stream);
    for (const agent of [one, other, one]) {
      const again = await keyed(agent, '/runs/wait', steps({ left: 1 }), wait);
      expect([again.status, again.body, runIdOf(again)]).toEqual([200, first.body, runIdOf(first)]);
      const told = await keyed(agent, '/runs/stream', steps({ left: 1 }), stream);
      expect([told.status, runIdOf(told)]).toEqual([200, runIdOf(events)]);
      expect(told.body['text']).toMatch(/^event: values\r?\ndata: {("left":0|"done":1|,){3}}\r?\n/);
    }
    const [kept] = await database.sql<{ temporary: boolean; hours: number }>(
      `select t.temporary, extract(epoch from remove_after - now())::float8 / 3600 as hours
        from gx.thread t join gx.run r using (thread_id) where r.run_id = '${runIdOf(first)}'`,
    );
    expect(kept!.temporary).toBe(true);
    expect(kept!.hours).toBeGreaterThan(23.9);
    expect(kept!.hours).toBeLessThanOrEqual(24);
    const found = await post(other, '/threads/search', { limit: 1000 });
    const threads = await database.sql<{ thread_id: string }>(
      `select thread_id from gx.run where run_id = '${runIdOf(first)}'`,
    );
    expect((found.body as unknown as Json[]).map(({ thread_id }) => thread_id)).not.toContain(
      threads[0]!.thread_id,
    );
  });

  test('of a run on a thread of its own that failed or asked has the same result', async () => {
    for (const [body, result] of [
      [
        { assistant_id: 'broken', input: { how: 'error' } },
        { __error__: expect.anything() as unknown },
      ],
      [
        { assistant_id: 'approval', input: { request: 'go' } },
        { __interrupt__: expect.anything() as unknown },
      ],
    ] as const) {
      const key = randomUUID();
      const first = await keyed(one, '/runs/wait', body, key);
      expect(first.body).toMatchObject(result);
      expect((await keyed(other, '/runs/wait', body, key)).body).toEqual(first.body);
    }
    expect(await count('thread', `temporary and status = 'interrupted'`)).toBe(0);
  });

  test('of a run without a key, or whose result is too large to be kept, leaves nothing', async () => {
    const before = await count('thread', 'temporary');
    await post(one, '/runs/wait', steps({ left: 1 }));
    const [key, content] = [randomUUID(), 'x'.repeat(1_000_001)];
    const large = { assistant_id: 'chat', input: { messages: [{ type: 'human', content }] } };
    expect((await keyed(one, '/runs/wait', large, key)).status).toBe(200);
    await expect.poll(() => count('thread', 'temporary')).toBe(before);
    expect((await keyed(one, '/runs/wait', large, key)).status).toBe(410);
  });
});

describe('a request that was refused', () => {
  /** Sends a request that is refused, puts that right, and sends it again. */
  async function twoTries(
    [path, body]: [string, unknown],
    mend: () => Promise<unknown>,
  ): Promise<number[]> {
    const key = randomUUID();
    const { status } = await keyed(one, path, body, key);
    await mend();
    return [status, (await keyed(one, path, body, key)).status];
  }
  const asThread = (thread_id: string) => () => one.client.threads.create({ threadId: thread_id });

  test('leaves no key, so that it may be sent again', async () => {
    const [a, b, c, assistant] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    expect(await twoTries([`/threads/${a}/runs`, LATER], asThread(a))).toEqual([404, 200]);
    expect(await twoTries([`/threads/${b}/runs/crons`, CRON], asThread(b))).toEqual([404, 200]);
    expect(await twoTries([`/threads/${c}/copy`, undefined], asThread(c))).toEqual([409, 200]);
    expect(
      await twoTries(['/threads', { thread_id: c }], () => one.client.threads.delete(c)),
    ).toEqual([409, 200]);
    const busy = await newThread();
    const { run_id } = await one.client.runs.create(busy, 'broken', { input: { how: 'never' } });
    const rejecting = steps({ left: 1 }, { multitask_strategy: 'reject' });
    expect(
      await twoTries([`/threads/${busy}/runs`, rejecting], () =>
        one.client.runs.cancel(busy, run_id, true),
      ),
    ).toEqual([409, 200]);
    const asAssistant = () =>
      one.client.assistants.create({ graphId: 'steps', assistantId: assistant });
    expect(
      await twoTries(['/runs/batch', [LATER, { ...LATER, assistant_id: assistant }]], asAssistant),
    ).toEqual([404, 200]);
  });

  test('because its history could not be written leaves neither thread nor key', async () => {
    const [key, thread_id] = [randomUUID(), randomUUID()];
    const body = {
      thread_id,
      metadata: { graph_id: 'steps' },
      supersteps: [{ updates: [{ values: {}, as_node: 'nowhere' }] }],
    };
    expect((await keyed(one, '/threads', body, key)).status).toBe(400);
    const good = { ...body, supersteps: [{ updates: [{ values: { left: 1 }, as_node: 'step' }] }] };
    expect(await keyed(one, '/threads', good, key)).toMatchObject({
      status: 200,
      body: { thread_id },
    });
  });

  test.each([
    ['is empty', ''],
    ['has 256 characters', 'k'.repeat(256)],
    ['has a space', 'a b'],
    ['is not ASCII', 'é'],
  ])('because its key %s is told of the header', async (_, key) => {
    for (const path of ['/runs', '/threads', '/runs/crons', '/runs/batch'])
      expect(
        refusalOf(
          await keyed(one, path, path === '/runs/batch' ? [LATER] : { ...LATER, ...CRON }, key),
        ),
      ).toEqual([422, 'header.Idempotency-Key: must be 1 to 255 visible ASCII characters']);
  });
  const refusalOf = ({ status, body }: Answer): unknown => [status, body['detail']];
});

describe('who waits for a run', () => {
  const journal = (): string => join(folder, randomUUID());
  const lines = (file: string): string[] => readFileSync(file, 'utf8').trim().split('\n');

  test.each([
    ['on a thread', async () => `/threads/${await newThread()}/runs/wait`],
    ['on a thread of its own', () => Promise.resolve('/runs/wait')],
  ])('%s gets the result of the same run, at either process', async (_, path) => {
    const [at, key, file] = [await path(), randomUUID(), journal()];
    const body = steps({ left: 3, pause: 100, journal: file });
    const answers = await Promise.all(
      [one, other, one].map((agent) => keyed(agent, at, body, key)),
    );
    expect(answers.map(({ status, body: state }) => [status, state])).toEqual(
      answers.map(() => [200, expect.objectContaining({ done: 3 })]),
    );
    expect(new Set(answers.map(runIdOf)).size).toBe(1);
    expect(lines(file)).toEqual(['3', '2', '1']);
  });

  test('after its end gets its result at once, or why it failed', async () => {
    const thread = await newThread();
    for (const body of [steps({ left: 1 }), { assistant_id: 'broken', input: { how: 'error' } }]) {
      const key = randomUUID();
      const first = await keyed(one, `/threads/${thread}/runs/wait`, body, key);
      const again = await keyed(other, `/threads/${thread}/runs/wait`, body, key);
      expect([again.body, runIdOf(again)]).toEqual([first.body, runIdOf(first)]);
    }
  });

  const events = ({ body }: Answer): string[] =>
    [...String(body['text']).matchAll(/^event: (\S+)/gm)].map(([, name]) => name!);
  const stream = async (
    agent: AgentProcess,
    thread: string,
    body: object,
    key: string,
  ): Promise<Answer> => keyed(agent, `/threads/${thread}/runs/stream`, body, key);
  const long = steps({ left: 4, pause: 250 }, { stream_mode: 'custom' });

  test('late, by a stream that can be resumed, gets it from its start', async () => {
    const [thread, key, body] = [
      await newThread(),
      randomUUID(),
      { ...long, stream_resumable: true },
    ];
    const first = stream(one, thread, body, key);
    await until(
      'it is under way',
      async () => (await one.client.threads.get(thread)).status === 'busy',
    );
    const [early, late] = [
      await Promise.all([stream(one, thread, body, key), stream(other, thread, body, key)]),
      await stream(other, thread, body, key),
    ];
    const { body: told } = await first;
    expect(events(await first)).toEqual(['metadata', 'custom', 'custom', 'custom', 'custom']);
    expect([...early, late].map(({ body: answer }) => answer)).toEqual([told, told, told]);
  });

  test('late, by another stream, gets what comes from then on, and the end; and after that the result', async () => {
    const [thread, key, file] = [await newThread(), randomUUID(), journal()];
    const body = { ...long, input: { left: 4, pause: 400, journal: file } };
    const first = stream(one, thread, body, key);
    await until('a step is done', () => lines(file).length >= 2);
    const late = await Promise.all([one, other].map((agent) => stream(agent, thread, body, key)));
    for (const answer of late) {
      expect(events(answer).length).toBeGreaterThan(0);
      expect(events(await first).slice(-events(answer).length)).toEqual(events(answer));
      expect(events(answer).length).toBeLessThan(5);
    }
    expect(lines(file)).toHaveLength(4);
    expect(events(await stream(one, thread, body, key))).toEqual(['values']);
  });
});

test('the database holds neither the key nor what was asked for', async () => {
  const key = `canary-${randomUUID()}`;
  await keyed(one, '/threads', { metadata: { said: 'canary-words' } }, key);
  const [row] = await database.sql<{ row: string; sizes: number[] }>(
    `select k::text as row, array[length(key), length(request)] as sizes from gx.idempotency_key k order by created_at desc limit 1`,
  );
  expect(row).toEqual({ row: expect.not.stringContaining('canary') as string, sizes: [32, 32] });
});

test('the document names the header on each route that makes something', async () => {
  type Operation = { parameters: { name: string; in: string }[]; responses: object };
  const { paths } = (await (await fetch(`${one.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  const takes = ({ parameters }: Operation): boolean =>
    parameters.some(({ name, in: where }) => name === 'Idempotency-Key' && where === 'header');
  const found = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      takes(operation) ? [`${method} ${path}`] : [],
    ),
  );
  expect(found.toSorted()).toEqual([
    'post /ag-ui/{assistant_id}',
    'post /copilotkit/agent/{assistant_id}/run',
    'post /mcp',
    'post /runs',
    'post /runs/batch',
    'post /runs/crons',
    'post /runs/stream',
    'post /runs/wait',
    'post /threads',
    'post /threads/{thread_id}/commands',
    'post /threads/{thread_id}/copy',
    'post /threads/{thread_id}/runs',
    'post /threads/{thread_id}/runs/crons',
    'post /threads/{thread_id}/runs/stream',
    'post /threads/{thread_id}/runs/wait',
  ]);
});

test('a page of another origin may send the header', async () => {
  const headers = {
    origin: 'https://pages.example.com',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type,idempotency-key',
  };
  const answer = await fetch(`${one.url}/runs`, { method: 'OPTIONS', headers });
  expect(answer.headers.get('access-control-allow-headers')).toContain('idempotency-key');
});
