import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* A request says where a run stops and where it goes on. */

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

test.each([
  ['before a node', { interruptBefore: ['step'] }, { done: 0, left: 2 }],
  ['after a node', { interruptAfter: ['step'] }, { done: 1, left: 1 }],
  ['before every node', { interruptBefore: '*' as const }, { done: 0, left: 2 }],
  ['after every node', { interruptAfter: '*' as const }, { done: 1, left: 1 }],
  ['before every node, written as a list', { interruptBefore: ['*'] }, { done: 0, left: 2 }],
  ['after every node, written as a list', { interruptAfter: ['*', 'step'] }, { done: 1, left: 1 }],
])('a run stops %s, and the next one without input goes on from there', async (_, where, seen) => {
  const { runs, threads } = agent.client;
  const { thread_id } = await threads.create();
  await runs.wait(thread_id, 'steps', { input: { left: 2 }, ...where });
  expect(await threads.getState(thread_id)).toMatchObject({ values: seen, next: ['step'] });
  expect(await threads.get(thread_id)).toMatchObject({ status: 'interrupted' });
  expect(await runs.wait(thread_id, 'steps', { input: null })).toMatchObject({ done: 2, left: 0 });
  expect(await threads.get(thread_id)).toMatchObject({ status: 'idle' });
});

test('a command changes the state and goes to a node', async () => {
  const { runs, threads } = agent.client;
  const { thread_id } = await threads.create();
  expect(await runs.wait(thread_id, 'steps', { input: { left: 2 } })).toMatchObject({
    done: 2,
    left: 0,
  });
  const command = { update: { left: 3, done: 10 }, goto: 'step' };
  expect(await runs.wait(thread_id, 'steps', { command })).toMatchObject({ done: 15, left: 0 });
});

type Answer = { status: number; detail: unknown };
const post = async (path: string, body: unknown): Promise<Answer> => {
  const response = await fetch(`${agent.url}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  const { detail } = (await response.json().catch(() => ({}))) as { detail?: unknown };
  return { status: response.status, detail };
};
const refusal = (text: string): Answer => ({
  status: 422,
  detail: expect.stringContaining(text) as unknown,
});

describe('a node that the graph does not have', () => {
  test.each([
    ['before', { interruptBefore: ['nowhere'] }],
    ['after', { interruptAfter: ['nowhere', '__end__'] }],
  ])('is passed over where a run is to stop %s it', async (_, where) => {
    const { runs, threads } = agent.client;
    const { thread_id } = await threads.create();
    expect(await runs.wait(thread_id, 'steps', { input: { left: 1 }, ...where })).toMatchObject({
      done: 1,
      left: 0,
    });
    expect(await threads.get(thread_id)).toMatchObject({ status: 'idle' });
    const events = await Array.fromAsync(
      runs.stream(null, 'steps', { input: { left: 1 }, ...where }),
    );
    expect(events.at(-1)).toMatchObject({ event: 'values', data: { done: 1 } });
  });

  test('does not keep a run from stopping at the others', async () => {
    const { runs, threads } = agent.client;
    const { thread_id } = await threads.create();
    await runs.wait(thread_id, 'steps', {
      input: { left: 1 },
      interruptBefore: ['nowhere', 'step'],
    });
    expect(await threads.getState(thread_id)).toMatchObject({ next: ['step'] });
  });

  test('may be one of a subgraph: a run stops at nodes of its own graph only', async () => {
    expect(
      await agent.client.runs.wait(null, 'nested', { input: {}, interruptBefore: ['deep'] }),
    ).toMatchObject({
      path: ['first', 'first', 'deep'],
    });
  });

  test.each([['nowhere'], [['step', 'nowhere']], [{ node: 'nowhere', input: {} }], ['__start__']])(
    'is no goal of a command: %j',
    async (goto) => {
      const { thread_id } = await agent.client.threads.create();
      const answer = await post(`/threads/${thread_id}/runs/wait`, {
        assistant_id: 'steps',
        command: { goto },
      });
      expect(answer).toEqual(refusal('body.command.goto: the graph has no node'));
    },
  );

  test('fails the run of a graph that is made for each call, whose nodes nobody knows before', async () => {
    const wait = (fields: object): Promise<unknown> => agent.client.runs.wait(null, 'made', fields);
    const config = { configurable: { size: 'large' } };
    await expect(wait({ config, command: { goto: 'small' } })).rejects.toThrow(
      'UnknownNode: command.goto: the graph has no node "small"; it has large',
    );
    expect(await wait({ config, input: {}, interruptBefore: ['small'] })).toEqual({
      size: 'large',
    });
    expect(await wait({ config, input: {}, interruptBefore: ['large'] })).toEqual({});
  });
});

test('every field of a run may be null, which is the same as leaving it out', async () => {
  const { paths } = (await (await fetch(`${agent.url}/openapi.json`)).json()) as {
    paths: Record<
      string,
      { post: { requestBody: { content: Record<string, { schema: { properties: object } }> } } }
    >;
  };
  const fields = Object.keys(
    paths['/runs/wait']!.post.requestBody.content['application/json']!.schema.properties,
  );
  const nothing = Object.fromEntries(fields.map((field) => [field, null]));
  expect(
    await post('/runs/wait', { ...nothing, assistant_id: 'steps', input: { left: 1 } }),
  ).toEqual({ status: 200 });
});

describe('a command', () => {
  test.each([{ goto: 5 }, { goto: [{ input: {} }] }, { update: 'x' }])(
    'of the wrong form is refused: %j',
    async (command) => {
      expect((await post('/runs/wait', { assistant_id: 'steps', command })).status).toBe(422);
    },
  );

  test('that says nothing is none, and one that does takes the place of the input', async () => {
    const { thread_id } = await agent.client.threads.create();
    const path = `/threads/${thread_id}/runs/wait`;
    for (const command of [{}, { goto: null, resume: null }])
      expect(
        await post(path, { assistant_id: 'steps', input: { left: 1 }, command }),
      ).toMatchObject({ status: 200 });
    expect((await agent.client.threads.getState(thread_id)).values).toMatchObject({ done: 2 });
    // AG-UI sends the state of its page beside the answer to a question.
    const both = { assistant_id: 'steps', input: { left: 100 }, command: { goto: 'step' } };
    expect(await post(path, both)).toMatchObject({ status: 200 });
    expect((await agent.client.threads.getState(thread_id)).values).toMatchObject({
      done: 3,
      left: -1,
    });
  });

  test('may bring its update as a list of channels and values', async () => {
    const { thread_id } = await agent.client.threads.create();
    await agent.client.runs.wait(thread_id, 'steps', { input: { left: 1 } });
    const update = [
      ['done', 5],
      ['left', 1],
    ] as [string, unknown][];
    expect(
      await agent.client.runs.wait(thread_id, 'steps', { command: { update, goto: '__end__' } }),
    ).toMatchObject({ done: 6, left: 1 });
  });
});
