import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { ALL, isRunEnd, WireThread } from './client.ts';

/* Commands of event streaming, on a server that does everything in one process. */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/event-streaming/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const newThread = (): WireThread & { id: string } => {
  const id = randomUUID();
  return Object.assign(new WireThread(agent.url, id), { id });
};

const approval = { assistant_id: 'agent', input: { messages: [], value: 'init', items: [] } };

describe('a command that can not be carried out', () => {
  test('is answered as such', async () => {
    const thread = newThread();
    const errorOf = async (method: string, params = {}): Promise<unknown> =>
      (await thread.command(method, params))['error'];
    expect(await thread.command('nope')).toEqual({
      type: 'error',
      id: 1,
      error: 'unknown_command',
      message: 'Unknown protocol command: nope',
    });
    expect(await errorOf('run.start')).toBe('invalid_argument');
    expect(await errorOf('run.start', { assistant_id: 'nobody' })).toBe('invalid_argument');
    expect(await errorOf('input.respond', { interrupt_id: 'i', response: 1 })).toBe('no_such_run');
    expect(await errorOf('agent.getTree')).toBe('no_such_run');
    expect(await errorOf('state.get', { namespace: [] })).toBe('no_such_run');
    expect(await errorOf('subscription.subscribe', { channels: ['values'] })).toBe('not_supported');
    expect(await errorOf('input.inject', {})).toBe('not_supported');
  });

  test('is refused when it is none', async () => {
    const thread = newThread();
    for (const body of [
      {},
      { id: 1 },
      { id: -1, method: 'run.start' },
      { id: 'a', method: 'run.start' },
      [],
    ])
      expect((await thread.post('/commands', body)).status).toBe(422);
  });

  test('is refused when the thread is busy and the strategy says so', async () => {
    const thread = newThread();
    const counting = { assistant_id: 'counter', input: { left: 1000, pause: 50 } };
    await thread.command('run.start', counting);
    await thread.read(
      { channels: ['lifecycle'] },
      ({ params }) => params.data['event'] === 'running',
    );
    expect(
      await thread.command('run.start', { ...counting, multitask_strategy: 'reject' }),
    ).toMatchObject({ error: 'invalid_argument' });
    expect(
      await thread.command('run.start', {
        ...counting,
        multitask_strategy: 'interrupt',
        input: { left: 1, pause: 0 },
      }),
    ).toMatchObject({
      type: 'success',
    });
    let ends = 0;
    const all = await thread.read(
      { channels: ['lifecycle'] },
      (event) => isRunEnd(event) && (ends += 1) === 2,
    );
    expect(all.map(({ params }) => params.data['event'])).toEqual([
      'running',
      'interrupted',
      'running',
      'completed',
    ]);
  });
});

describe('a thread that waits', () => {
  test('is answered by the input of the next run, as soon as its client has seen the question', async () => {
    const thread = newThread();
    await thread.command('run.start', approval);
    const first = await thread.read({ channels: ALL }, isRunEnd);
    await thread.command('run.start', { assistant_id: 'agent', input: 'sure' });
    const rest = await thread.read({ channels: ALL, since: first.at(-1)!.seq }, isRunEnd);
    expect(rest.at(-1)!.params.data).toMatchObject({ event: 'completed' });
    const { values } = await agent.client.threads.getState<{ messages: { content: string }[] }>(
      thread.id,
    );
    expect(values.messages.map(({ content }) => content)).toContain('Human said: sure');
  });

  test('takes no answer to another question, and several with an update', async () => {
    const thread = newThread();
    await thread.command('run.start', approval);
    const first = await thread.read(
      { channels: ALL },
      ({ method }) => method === 'input.requested',
    );
    const { interrupt_id } = first.at(-1)!.params.data;
    expect(
      await thread.command('input.respond', { interrupt_id: 'other', response: 1 }),
    ).toMatchObject({ error: 'no_such_interrupt' });
    const responses = [{ interrupt_id, response: 'yes', namespace: [] }];
    expect(
      await thread.command('input.respond', { responses, update: { value: 'updated' } }),
    ).toMatchObject({ type: 'success' });
    await thread.read(
      { channels: ALL, since: first.at(-1)!.seq + 3 },
      ({ params }) => params.data['event'] === 'completed' && params.namespace.length === 0,
    );
    expect(await thread.command('state.get', { namespace: [], keys: ['value'] })).toMatchObject({
      result: { values: { value: 'updated' } },
    });
    const { result } = await thread.command('agent.getTree');
    const child = {
      namespace: [expect.stringMatching(/^run_subgraph:/) as string],
      status: 'completed',
      graph_name: 'run_subgraph',
    };
    expect(result).toEqual({
      tree: { namespace: [], status: 'completed', graph_name: 'agent', children: [child] },
    });
  });
});

test('of several clients that answer a question at the same instant, one is heard and the others hear that', async () => {
  const thread = newThread();
  await thread.command('run.start', approval);
  const first = await thread.read({ channels: ALL }, ({ method }) => method === 'input.requested');
  const { interrupt_id } = first.at(-1)!.params.data;
  const names = Array.from({ length: 6 }, (_, at) => `answer ${at}`);
  const answers = await Promise.all(
    names.map((response) =>
      thread.command('input.respond', { interrupt_id, response, namespace: [] }),
    ),
  );
  expect(answers.filter(({ type }) => type === 'success')).toHaveLength(1);
  const refusals = answers.filter(({ type }) => type === 'error');
  for (const refusal of refusals)
    expect(refusal).toMatchObject({
      error: 'no_such_interrupt',
      message: expect.stringContaining('not wait'),
    });
  expect(refusals).toHaveLength(names.length - 1);
  await expect.poll(async () => (await agent.client.threads.get(thread.id)).status).toBe('idle');
  const { values } = await agent.client.threads.getState<{ messages: { content: string }[] }>(
    thread.id,
  );
  const heard = names[answers.findIndex(({ type }) => type === 'success')];
  expect(values.messages.map(({ content }) => content)).toContain(`Human said: ${heard}`);
  expect(await agent.client.runs.list(thread.id)).toHaveLength(2);
});

test('a run forks from a checkpoint', async () => {
  const thread = newThread();
  const input = { left: 3, pause: 0 };
  await thread.command('run.start', { assistant_id: 'counter', input });
  const all = await thread.read({ channels: ['checkpoints', 'lifecycle'] }, isRunEnd);
  const steps = all
    .filter(({ method }) => method === 'checkpoints')
    .map(({ params }) => params.data);
  expect(steps.map(({ step }) => step)).toEqual([0, 1, 2, 3]);
  const config = { configurable: { checkpoint_id: steps[2]!['id'] } };
  await thread.command('run.start', { assistant_id: 'counter', input: null, config });
  const fork = await thread.read(
    { channels: ['values', 'lifecycle'], since: all.at(-1)!.seq },
    isRunEnd,
  );
  expect(fork.filter(({ method }) => method === 'values').at(-1)!.params.data).toMatchObject({
    left: 0,
    texts: ['3', '2', '1'],
  });
  expect(
    await thread.command('run.start', {
      assistant_id: 'counter',
      config: { configurable: { checkpoint_id: randomUUID() } },
    }),
  ).toMatchObject({
    error: 'invalid_argument',
  });
});

test('the official client starts a run, reads its messages, values, tools and questions, and answers', async () => {
  const stream = agent.client.threads.stream({ assistantId: 'agent' });
  const texts: string[] = [];
  const messages = (async () => {
    for await (const message of stream.messages) texts.push(await message.text);
  })();
  await stream.run.start({ input: approval.input });
  await stream.output;
  expect(stream.interrupted).toBe(true);
  const [question] = stream.interrupts;
  expect(question).toMatchObject({ payload: 'Are we good?', namespace: [] });
  await messages;
  expect(texts).toContain('Hello, world!');
  const subgraphs: string[] = [];
  const subs = (async () => {
    for await (const { graphName, name } of stream.subgraphs) subgraphs.push(graphName ?? name);
  })();
  await stream.input.respond({
    interrupt_id: question!.interruptId,
    namespace: [],
    response: 'yes',
  });
  await subs;
  expect(subgraphs).toEqual(['run_subgraph']);
  await stream.close();
});
