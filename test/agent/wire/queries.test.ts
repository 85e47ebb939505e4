import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Queries as official clients write them: empty where they have no value, with flags as their language spells them. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let thread: string;
let run: string;
let assistant: string;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/contract/graphs/gx.json',
  });
  const { client } = agent;
  thread = (await client.threads.create()).thread_id;
  const payload = {
    input: { left: 2 },
    streamResumable: true,
    streamMode: ['values', 'custom'] as ('values' | 'custom')[],
  };
  assistant = (await client.assistants.search({ graphId: 'nested' }))[0]!.assistant_id;
  ({ run_id: run } = await client.runs.create(thread, 'steps', payload));
  await client.runs.join(thread, run);
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${agent.url}${path}`, { headers });
const stream = async (path: string): Promise<string> =>
  (await get(path, { 'last-event-id': '-' })).text();

describe('an empty value', () => {
  test('of stream_mode is none: the Python client sends it with join_stream', async () => {
    const path = `/threads/${thread}/runs/${run}/stream`;
    const all = await stream(path);
    expect(all).toContain('event: custom');
    expect(await stream(`${path}?cancel_on_disconnect=0&stream_mode=`)).toBe(all);
  });

  test('of stream_modes leaves the other name of the field', async () => {
    const gone = new AbortController();
    const query = 'stream_modes=&stream_mode=lifecycle';
    const answer = await fetch(`${agent.url}/threads/${thread}/stream?${query}`, {
      headers: { 'last-event-id': '-' },
      signal: gone.signal,
    });
    let text = '';
    for await (const chunk of answer.body!) {
      text += Buffer.from(chunk).toString();
      if (text.includes('run_done')) break;
    }
    gone.abort();
    expect(text).not.toContain('event: values');
  });

  test.each([['limit=&offset=&status=&select='], ['limit=1&status=success']])(
    'of a filter is none: %s',
    async (query) => {
      expect(await (await get(`/threads/${thread}/runs?${query}`)).json()).toMatchObject([
        { run_id: run },
      ]);
    },
  );

  test('of the levels of a drawing is none', async () => {
    const drawn = await (await get('/assistants/nested/graph')).text();
    expect(await (await get('/assistants/nested/graph?xray=')).text()).toBe(drawn);
  });
});

describe('a flag', () => {
  test('may be written True or False: the levels of a drawing', async () => {
    const drawing = async (xray: string): Promise<string> =>
      (await get(`/assistants/nested/graph?xray=${xray}`)).text();
    expect(await drawing('True')).toBe(await drawing('true'));
    expect(await drawing('False')).toBe(await drawing('false'));
    expect(await drawing('1')).toContain('nodes');
    expect((await get('/assistants/nested/graph?xray=Maybe')).status).toBe(422);
  });

  test.each([
    ['state', () => `/threads/${thread}/state?subgraphs=`],
    ['subgraphs', () => `/assistants/${assistant}/subgraphs?recurse=`],
    ['item', () => '/store/items?namespace=a&key=b&refresh_ttl='],
    ['health', () => '/ok?check_db='],
    ['join', () => `/threads/${thread}/runs/${run}/join?cancel_on_disconnect=`],
  ])('of %s may be written in each way, and in no other', async (_, path) => {
    const answers = await Promise.all(
      ['0', '1', 'true', 'false', 'True', 'False', ''].map((flag) => get(path() + flag)),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const refused = await get(`${path()}yes`);
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({ detail: expect.stringContaining('boolean') });
  });
});

test('a cancel may be called so: it interrupts', async () => {
  const { client } = agent;
  const { thread_id } = await client.threads.create();
  const { run_id } = await client.runs.create(thread_id, 'steps', {
    input: { left: 5, pause: 1000 },
  });
  const cancel = await fetch(
    `${agent.url}/threads/${thread_id}/runs/${run_id}/cancel?wait=True&action=cancel`,
    { method: 'POST' },
  );
  expect(cancel.status).toBe(200);
  expect(await client.runs.get(thread_id, run_id)).toMatchObject({ status: 'interrupted' });
  const none = await fetch(`${agent.url}/runs/cancel?action=cancel`, {
    method: 'POST',
    body: '{"status":"running"}',
  });
  expect(none.status).toBe(404);
});
