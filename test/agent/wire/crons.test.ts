import type { Cron } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Crons as clients keep them. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/contract/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const YEARLY = '0 0 1 1 *';
const SYSTEM = { assistant_id: 'shows', schedule: YEARLY };

type Answer = { status: number; body: Record<string, unknown>; headers: Headers };
async function call(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${agent.url}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
    headers: response.headers,
  };
}

const made = async (body: object = {}): Promise<Cron> =>
  (await call('POST', '/runs/crons', { ...SYSTEM, ...body })).body as unknown as Cron;

describe('a new cron', () => {
  test('has all its fields, and its call with the name under which the graph knows it', async () => {
    const cron = await agent.client.crons.create('shows', {
      schedule: YEARLY,
      timezone: 'America/New_York',
      endTime: '2100-01-01T00:00:00Z',
      input: { said: 'hi' },
      config: { tags: ['a'], configurable: { model: 'small' } },
      metadata: { team: 'a' },
      onRunCompleted: 'keep',
      streamMode: ['values', 'updates'],
      durability: 'sync',
      enabled: false,
    });
    const { next_run_date: next, created_at: at } = cron;
    expect(cron).toEqual({
      cron_id: expect.any(String) as string,
      assistant_id: expect.any(String) as string,
      thread_id: null,
      user_id: null,
      end_time: '2100-01-01T00:00:00+00:00',
      schedule: YEARLY,
      timezone: 'America/New_York',
      payload: {
        assistant_id: cron.assistant_id,
        input: { said: 'hi' },
        config: { tags: ['a'], configurable: { model: 'small', cron_id: cron.cron_id } },
        stream_mode: ['values', 'updates'],
        durability: 'sync',
      },
      next_run_date: expect.stringMatching(/^20\d\d-01-01T05:00:00\+00:00$/) as string,
      metadata: { team: 'a' },
      on_run_completed: 'keep',
      enabled: false,
      created_at: at,
      updated_at: at,
    });
    expect(new Date(next).getTime()).toBeGreaterThan(Date.now());
    expect((await call('GET', `/runs/crons/${cron.cron_id}`)).body).toEqual(cron);
  });

  test('on a thread keeps it', async () => {
    const { thread_id } = await agent.client.threads.create();
    const cron = await agent.client.crons.createForThread(thread_id, 'shows', {
      schedule: '*/30 0 * * * *',
      multitaskStrategy: 'reject',
    });
    expect(cron).toMatchObject({
      thread_id,
      on_run_completed: null,
      enabled: true,
      timezone: null,
      payload: { multitask_strategy: 'reject' },
    });
  });

  test.each([
    ['a schedule that can’t be read', { schedule: '61 * * * *' }, 422, /schedule.*minute/],
    ['a schedule that never comes', { schedule: '0 0 30 2 *' }, 422, /schedule.*never fires/],
    ['an unknown time zone', { timezone: 'Mars/Base' }, 422, /timezone.*Mars/],
    ['an end that is no time', { end_time: 'soon' }, 422, /end_time/],
    [
      'an unknown assistant',
      { assistant_id: '00000000-0000-4000-8000-000000000000' },
      404,
      /assistant not found/,
    ],
    ['an unknown graph', { assistant_id: 'nobody' }, 422, /nobody/],
    ['too many steps', { config: { recursion_limit: 2_000_000 } }, 422, /recursion_limit/],
    [
      'two names for the settings',
      { context: { a: 1 }, config: { configurable: { b: 1 } } },
      400,
      /context/,
    ],
    ['a word for a flag', { enabled: 'yes' }, 422, /enabled/],
  ])('with %s is refused', async (_, body, status, detail) => {
    const before = await agent.client.crons.count();
    const answer = await call('POST', '/runs/crons', { ...SYSTEM, ...body });
    expect([answer.status, answer.body]).toEqual([
      status,
      { detail: expect.stringMatching(detail) as string },
    ]);
    expect(await agent.client.crons.count()).toBe(before);
  });

  test('on a missing thread is refused, and so is the removal of a given one', async () => {
    const missing = await call(
      'POST',
      '/threads/00000000-0000-4000-8000-000000000000/runs/crons',
      SYSTEM,
    );
    expect(missing).toMatchObject({
      status: 404,
      body: { detail: 'Thread or assistant not found.' },
    });
    const { thread_id } = await agent.client.threads.create();
    const removing = await call('POST', `/threads/${thread_id}/runs/crons`, {
      ...SYSTEM,
      on_run_completed: 'delete',
    });
    expect(removing).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('on_run_completed') as string },
    });
  });
});

describe('a change', () => {
  const patch = (id: string, body: object): Promise<Answer> =>
    call('PATCH', `/runs/crons/${id}`, body);

  test('replaces the named parts of the call, merges labels, and keeps the rest', async () => {
    const { cron_id } = await made({
      input: { a: 1 },
      config: { tags: ['x'] },
      webhook: null,
      metadata: { team: 'a', tier: 1 },
    });
    const changed = await agent.client.crons.update(cron_id, {
      config: { tags: ['y'] },
      metadata: { team: 'b' },
      onRunCompleted: 'keep',
    });
    expect(changed).toMatchObject({
      payload: {
        input: { a: 1 },
        config: { tags: ['y'], configurable: { cron_id } },
        webhook: null,
      },
      metadata: { team: 'b', tier: 1 },
      on_run_completed: 'keep',
      schedule: YEARLY,
    });
  });

  test('of schedule or zone moves the next date; of anything else does not', async () => {
    const { cron_id, next_run_date: first } = await made();
    expect((await patch(cron_id, { input: {} })).body['next_run_date']).toBe(first);
    const zoned = (await patch(cron_id, { timezone: 'Asia/Tokyo' })).body[
      'next_run_date'
    ] as string;
    expect(Date.parse(first!) - Date.parse(zoned)).toBe(9 * 3_600_000);
    expect(
      (await patch(cron_id, { schedule: '0 12 1 1 *', timezone: null })).body['next_run_date'],
    ).toMatch(/-01-01T12:00:00/);
  });

  test('sets and clears the end', async () => {
    const { cron_id, next_run_date: next } = await made({ end_time: '2026-01-01T00:00:00Z' });
    expect(next).toBeNull();
    expect((await patch(cron_id, { end_time: null })).body).toMatchObject({
      end_time: null,
      next_run_date: expect.any(String) as string,
    });
    expect((await patch(cron_id, { end_time: '2026-01-01' })).body).toMatchObject({
      next_run_date: null,
    });
  });

  test.each([
    ['nothing', {}, 400, /Request body cannot be empty/],
    ['a schedule that can’t be read', { schedule: 'often' }, 422, /schedule/],
    ['a zone that is not there', { timezone: 'Mars/Base' }, 422, /timezone/],
    [
      'settings under two names',
      { context: { a: 1 }, config: { configurable: { b: 1 } } },
      400,
      /context/,
    ],
  ])('to %s is refused, and changes nothing', async (_, body, status, detail) => {
    const cron = await made();
    const answer = await patch(cron.cron_id, body);
    expect([answer.status, answer.body]).toEqual([
      status,
      { detail: expect.stringMatching(detail) as string },
    ]);
    expect((await call('GET', `/runs/crons/${cron.cron_id}`)).body).toEqual(cron);
  });

  test('of a missing cron is 404, and its removal too', async () => {
    const { cron_id } = await made();
    expect((await call('DELETE', `/runs/crons/${cron_id}`)).status).toBe(204);
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect(
        await call(
          method,
          `/runs/crons/${cron_id}`,
          method === 'PATCH' ? { enabled: true } : undefined,
        ),
      ).toMatchObject({
        status: 404,
        body: { detail: `Cron with ID ${cron_id} not found` },
      });
    expect((await call('GET', '/runs/crons/first')).status).toBe(422);
  });
});

describe('a search', () => {
  test('finds by assistant, thread, labels and flag; sorts; and counts', async () => {
    const { assistant_id } = await agent.client.assistants.create({ graphId: 'shows' });
    const { thread_id } = await agent.client.threads.create();
    const early = await made({
      assistant_id,
      schedule: '0 0 1 1 *',
      timezone: 'Asia/Tokyo',
      metadata: { nth: 1 },
    });
    const late = await made({ assistant_id, metadata: { nth: 2 }, enabled: false });
    const ended = await made({ assistant_id, end_time: '2026-01-01' });
    const bound = await agent.client.crons.createForThread(thread_id, assistant_id, {
      schedule: '0 1 1 1 *',
    });
    const found = async (query: object): Promise<string[]> =>
      (await agent.client.crons.search({ assistantId: assistant_id, ...query })).map(
        ({ cron_id }) => cron_id,
      );
    const newestFirst = [bound, ended, late, early].map(({ cron_id }) => cron_id);
    expect(await found({})).toEqual(newestFirst);
    expect(await found({ sortBy: 'next_run_date', sortOrder: 'asc' })).toEqual(
      [early, late, bound, ended].map(({ cron_id }) => cron_id),
    );
    expect(await found({ threadId: thread_id })).toEqual([bound.cron_id]);
    expect(await found({ metadata: { nth: 2 } })).toEqual([late.cron_id]);
    expect(await found({ enabled: false })).toEqual([late.cron_id]);
    expect(await agent.client.crons.count({ assistantId: assistant_id })).toBe(4);
    expect(await agent.client.crons.count({ threadId: thread_id })).toBe(1);
    expect(await agent.client.crons.count({ metadata: { nth: 1 } })).toBe(1);
  });

  test('comes in pages, with the selected fields', async () => {
    const { assistant_id } = await agent.client.assistants.create({ graphId: 'shows' });
    for (const nth of [1, 2, 3]) await made({ assistant_id, input: { nth } });
    const first = await call('POST', '/runs/crons/search', {
      assistant_id,
      limit: 2,
      select: ['payload', 'now'],
    });
    expect([
      first.headers.get('x-pagination-next'),
      first.headers.get('x-pagination-total'),
    ]).toEqual(['2', '3']);
    expect(first.body).toMatchObject([
      { payload: { input: { nth: 3 } } },
      { payload: { input: { nth: 2 } } },
    ]);
    expect(Object.keys((first.body as unknown as object[])[0]!)).toEqual(['payload', 'now']);
    const last = await call('POST', '/runs/crons/search', { assistant_id, limit: 2, offset: 2 });
    expect([last.headers.get('x-pagination-next'), last.headers.get('x-pagination-total')]).toEqual(
      [null, '3'],
    );
    expect((await call('POST', '/runs/crons/search', { sort_by: 'schedule' })).status).toBe(422);
  });
});

test('threads and assistants take their crons along', async () => {
  const { assistant_id } = await agent.client.assistants.create({ graphId: 'shows' });
  const [gone, pruned] = [await agent.client.threads.create(), await agent.client.threads.create()];
  const crons = [
    await made({ assistant_id }),
    await agent.client.crons.createForThread(gone.thread_id, 'shows', { schedule: YEARLY }),
    await agent.client.crons.createForThread(pruned.thread_id, 'shows', { schedule: YEARLY }),
  ];
  await agent.client.assistants.delete(assistant_id);
  await agent.client.threads.delete(gone.thread_id);
  await call('POST', '/threads/prune', { thread_ids: [pruned.thread_id] });
  for (const { cron_id } of crons)
    expect((await call('GET', `/runs/crons/${cron_id}`)).status).toBe(404);
});

test('a server without crons has none of their routes, and says so', async () => {
  const flags = async ({ url }: AgentProcess): Promise<unknown> =>
    ((await (await fetch(`${url}/info`)).json()) as { flags: { crons: boolean } }).flags.crons;
  expect(await flags(agent)).toBe(true);
  const without = await startAgent({ database: database.uri, env: { FF_CRONS_ENABLED: 'false' } });
  try {
    expect(await flags(without)).toBe(false);
    expect(
      (await fetch(`${without.url}/runs/crons/search`, { method: 'POST', body: '{}' })).status,
    ).toBe(404);
    expect(
      (await fetch(`${without.url}/runs/crons`, { method: 'POST', body: JSON.stringify(SYSTEM) }))
        .status,
    ).toBe(404);
  } finally {
    await without.kill();
  }
});
