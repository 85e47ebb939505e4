import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* Values that graphs make: what clients see of them, what is refused, and what stays a secret. */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/values/graphs/gx.json',
    env: { GX_LOG_LEVEL: 'error' },
  });
});
afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Json = Record<string, unknown>;
type Checkpoint = {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string;
  checkpoint_map?: Json;
};
type State = {
  values: Json;
  next: string[];
  error?: Json;
  checkpoint: Checkpoint;
  metadata: Json;
  tasks: { state: State | null }[];
};
type Answer<T> = { status: number; body: T; text: string };

async function call<T = Json>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
  const answer = await fetch(agent.url + path, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.includes('json') === true;
  return { status: answer.status, body: (isJson ? JSON.parse(text) : undefined) as T, text };
}

const newThread = async (graph_id: string): Promise<string> =>
  (await call<{ thread_id: string }>('POST', '/threads', { metadata: { graph_id } })).body
    .thread_id;

/** Runs a graph on a thread, and returns its final state. */
const run = async (thread: string, assistant_id: string, more: object): Promise<Json> =>
  (await call('POST', `/threads/${thread}/runs/wait`, { assistant_id, ...more })).body;

const stateOf = async (thread: string, query = ''): Promise<State> =>
  (await call<State>('GET', `/threads/${thread}/state${query}`)).body;
const historyOf = async (thread: string, checkpoint?: object): Promise<State[]> =>
  (
    await call<State[]>('POST', `/threads/${thread}/history`, {
      limit: 100,
      ...(checkpoint && { checkpoint }),
    })
  ).body;

describe('a message that is made of blocks', () => {
  const input = { messages: [{ type: 'human', content: 'hi' }] };
  const content = [
    { type: 'text', text: expect.stringContaining('seen') as string },
    { type: 'reasoning', reasoning: 'because' },
  ];
  const shown = expect.objectContaining({ type: 'ai', content }) as Json;

  test('has its content in each answer and event, and in the next run', async () => {
    const thread = await newThread('blocks');
    expect((await run(thread, 'blocks', { input }))['messages']).toEqual([
      expect.anything(),
      shown,
    ]);
    expect((await stateOf(thread)).values['messages']).toEqual([expect.anything(), shown]);
    expect((await call('GET', `/threads/${thread}`)).body['values']).toMatchObject({
      messages: [{}, { type: 'ai', content }],
    });
    const more = {
      assistant_id: 'blocks',
      input,
      stream_mode: ['values', 'messages-tuple', 'updates'],
    };
    const { text } = await call('POST', `/threads/${thread}/runs/stream`, more);
    const events = [...text.matchAll(/^event: (.*)\r?\ndata: (.*)$/gm)].map(([, event, data]) => ({
      event,
      data: JSON.parse(data!) as unknown,
    }));
    expect(events.findLast(({ event }) => event === 'messages')?.data).toEqual([
      shown,
      expect.anything(),
    ]);
    expect(events.findLast(({ event }) => event === 'updates')?.data).toMatchObject({
      answer: { messages: [{ type: 'ai', content }] },
    });
    expect(events.findLast(({ event }) => event === 'values')?.data).toMatchObject({
      messages: [
        {},
        { content },
        {},
        { content: [{ text: expect.stringMatching(/seen.*hi.*because.*hi/s) as string }, {}] },
      ],
    });
  });

  test('is the text of an answer to another agent, and to a client of tools', async () => {
    const parts = [{ kind: 'text', text: 'hi' }];
    const params = { message: { kind: 'message', role: 'user', messageId: 'm', parts } };
    const [{ assistant_id }] = (
      await call<[{ assistant_id: string }]>('POST', '/assistants/search', { graph_id: 'blocks' })
    ).body;
    const answered = await call('POST', `/a2a/${assistant_id}`, {
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params,
    });
    expect(JSON.stringify(answered.body)).toMatch(/"kind":"text","text":"seen[^}]*hi/);
  });
});

describe('a value that has no stored form', () => {
  test.each([
    ['in a field', {}, 'many'],
    ['in a list', { kind: 'list' }, 'list'],
  ])(
    'fails the run %s with the name of the field, and the steps before stay',
    async (_, input, field) => {
      const error = {
        error: 'UnstoredError',
        message: expect.stringContaining(`The value of "${field}" can not be stored: `) as string,
      };
      const thread = await newThread('unstored');
      expect(await run(thread, 'unstored', { input: { kind: 'first', ...input } })).toEqual({
        __error__: error,
      });
      expect((await stateOf(thread)).values).toEqual({ kind: 'first', ...input });
      expect((await call('POST', '/runs/wait', { assistant_id: 'unstored', input })).body).toEqual({
        __error__: error,
      });
    },
  );
});

describe('a checkpoint within a subgraph', () => {
  /** A thread that waits within the subgraph, and the states of the subgraph, newest first. */
  async function waiting(): Promise<{ thread: string; inner: State[] }> {
    const thread = await newThread('outer');
    await run(thread, 'outer', { input: {} });
    const { tasks } = await stateOf(thread, '?subgraphs=true');
    const { checkpoint_ns } = tasks[0]!.state!.checkpoint;
    return { thread, inner: await historyOf(thread, { checkpoint_ns }) };
  }
  const withoutMap = ({ thread_id, checkpoint_ns, checkpoint_id }: Checkpoint): Checkpoint => ({
    thread_id,
    checkpoint_ns,
    checkpoint_id,
  });
  const at = (states: State[], next: string): Checkpoint =>
    states.find((state) => state.next[0] === next)!.checkpoint;
  const newestOf = async (thread: string): Promise<string> =>
    (await stateOf(thread)).checkpoint.checkpoint_id;

  test('names those around it, in a state and in a history', async () => {
    const { thread, inner } = await waiting();
    const root = await stateOf(thread, '?subgraphs=true');
    for (const { checkpoint } of [...inner, root.tasks[0]!.state!])
      expect(checkpoint.checkpoint_map).toEqual({
        '': root.checkpoint.checkpoint_id,
        [checkpoint.checkpoint_ns]: checkpoint.checkpoint_id,
      });
    expect(root.checkpoint).not.toHaveProperty('checkpoint_map');
  });

  test.each([
    ['as it is shown', (checkpoint: Checkpoint) => checkpoint],
    ['without its map', withoutMap],
  ])('is gone on from while the thread waits, and when it has ended (%s)', async (_, form) => {
    const { thread, inner } = await waiting();
    const again = await run(thread, 'outer', { input: null, checkpoint: form(at(inner, 'one')) });
    expect(again['__interrupt__']).toMatchObject([{ value: 'go on?' }]);
    const [waits] = (await stateOf(thread, '?subgraphs=true')).tasks;
    expect(inner.map(({ checkpoint }) => checkpoint.checkpoint_id)).not.toContain(
      waits!.state!.checkpoint.checkpoint_id,
    );
    expect(await run(thread, 'outer', { command: { resume: 'yes' } })).toMatchObject({
      log: expect.arrayContaining(['two yes']) as unknown,
    });
    expect(await stateOf(thread)).toMatchObject({ next: [] });
    const ended = await newestOf(thread);
    const forked = await run(thread, 'outer', { input: null, checkpoint: form(at(inner, 'two')) });
    expect(forked['__interrupt__']).toMatchObject([{ value: 'go on?' }]);
    expect(await newestOf(thread)).not.toBe(ended);
  });

  test.each([
    ['as it is shown', (checkpoint: Checkpoint) => checkpoint],
    ['without its map', withoutMap],
  ])('is answered where the thread waits (%s)', async (_, form) => {
    const { thread, inner } = await waiting();
    expect(
      await run(thread, 'outer', {
        command: { resume: 'yes' },
        checkpoint: form(inner[0]!.checkpoint),
      }),
    ).toMatchObject({
      log: ['one', 'two yes'],
    });
  });

  test('that was written by hand is gone on from with what was written', async () => {
    const { thread, inner } = await waiting();
    const { body } = await call('POST', `/threads/${thread}/state`, {
      values: { log: ['by hand'] },
      checkpoint: inner[0]!.checkpoint,
      as_node: 'one',
    });
    await run(thread, 'outer', { input: null, checkpoint: body['checkpoint'] });
    expect(await run(thread, 'outer', { command: { resume: 'yes' } })).toMatchObject({
      log: ['one', 'by hand', 'two yes'],
    });
  });
});

describe('a state that its graph refuses', () => {
  /** A thread whose last checkpoint the graph refuses: its reducer, or the class of its state. */
  async function locked(graph: string): Promise<string> {
    const thread = await newThread(graph);
    expect(await run(thread, graph, { input: { count: 1 } })).toMatchObject({ count: 2 });
    await run(thread, graph, { command: { update: { count: -1 } } });
    await run(thread, graph, { input: { count: -1 } });
    return thread;
  }

  test.each(['refusing', 'holding'])(
    'is shown as it is stored, and an earlier one is gone on from (%s)',
    async (graph) => {
      const thread = await locked(graph);
      const history = await historyOf(thread);
      const refused = history.filter(({ error }) => error !== undefined);
      expect(refused.length).toBeGreaterThan(0);
      for (const { error, next, tasks, checkpoint, values } of refused) {
        expect(error).toEqual({
          error: expect.stringMatching(/Error$/) as string,
          message: expect.stringMatching(/count/) as string,
        });
        expect([next, tasks]).toEqual([[], []]);
        expect(checkpoint.checkpoint_id).toMatch(/-/);
        expect(typeof values['count']).toBe('number');
      }
      const { checkpoint } = history.find(({ error }) => error === undefined)!;
      expect(await run(thread, graph, { input: { count: 5 }, checkpoint })).toMatchObject({
        count: 6,
      });
      expect(await stateOf(thread)).toMatchObject({ values: { count: 6 }, next: [] });
    },
  );

  test('is repaired by a write at an earlier one', async () => {
    const thread = await locked('refusing');
    const { checkpoint } = (await historyOf(thread)).find(
      ({ error, metadata }) => error === undefined && metadata['source'] === 'loop',
    )!;
    expect(
      (
        await call('POST', `/threads/${thread}/state`, {
          values: { count: 7 },
          as_node: 'step',
          checkpoint,
        })
      ).status,
    ).toBe(200);
    expect(await stateOf(thread)).toMatchObject({ values: { count: 7 } });
  });
});

describe('the context of a run', () => {
  const TOKEN = 'sk-SECRET-123';
  const context = { token: TOKEN, tone: 'calm' };
  const MODES = [
    'values',
    'updates',
    'messages',
    'messages-tuple',
    'custom',
    'tasks',
    'checkpoints',
    'debug',
    'events',
  ];

  test('reaches the graph, also when it is answered, and stands in no event, state or history', async () => {
    const thread = await newThread('secret');
    const body = {
      assistant_id: 'secret',
      input: {},
      context,
      stream_mode: MODES,
      stream_subgraphs: true,
    };
    const { text } = await call('POST', `/threads/${thread}/runs/stream`, body);
    expect(text).toMatch(/event: debug/);
    for (const seen of [
      text,
      JSON.stringify(await stateOf(thread, '?subgraphs=true')),
      JSON.stringify(await historyOf(thread)),
    ]) {
      expect(seen).not.toContain(TOKEN);
      expect(seen).not.toContain('calm');
    }
    expect(await run(thread, 'secret', { command: { resume: 'yes' }, context })).toEqual({
      seen: `${TOKEN.length} calm ${TOKEN.length} yes`,
    });
    expect(JSON.stringify(await historyOf(thread))).not.toContain(TOKEN);
    const rows = await database.sql<{ metadata: string }>(
      `select metadata::text as metadata from gx.checkpoints where thread_id = '${thread}'`,
    );
    expect(JSON.stringify(rows)).not.toContain(TOKEN);
  });

  test('stands in no answer of a graph that has asked on a thread of its own', async () => {
    const [{ assistant_id }] = (
      await call<[{ assistant_id: string }]>('POST', '/assistants/search', { graph_id: 'secret' })
    ).body;
    await call('PATCH', `/assistants/${assistant_id}`, { context });
    const listed = await call('POST', '/mcp', {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'secret', arguments: {} },
    });
    expect(listed.status).toBeLessThan(500);
    const rows = await database.sql<{ metadata: string }>(
      'select metadata::text as metadata from gx.checkpoints',
    );
    expect(JSON.stringify(rows)).not.toContain(TOKEN);
  });

  test('leaves names of the metadata and the configuration of the run where they were', async () => {
    const thread = await newThread('secret');
    const more = { context, metadata: { tone: 'loud', kind: 'mine' }, input: {} };
    await run(thread, 'secret', more);
    expect((await stateOf(thread)).metadata).toMatchObject({ tone: 'loud', kind: 'mine' });
    const set = {
      assistant_id: 'secret',
      input: {},
      config: { configurable: { colour: 'red' } },
      stream_mode: ['debug'],
    };
    expect(
      (await call('POST', `/threads/${await newThread('secret')}/runs/stream`, set)).text,
    ).toContain('"colour":"red"');
  });
});

test('a function that makes a graph hears which call needs it, and the context of a run', async () => {
  const thread = await newThread('made');
  expect(await run(thread, 'made', { input: {}, context: { tenant: 'a' } })).toEqual({
    made: { access: 'threads.create_run', context: { tenant: 'a' } },
  });
  expect(
    (
      await call('POST', `/threads/${thread}/state`, {
        values: { made: 1 },
        as_node: 'threads-update',
      })
    ).status,
  ).toBe(200);
  const [{ assistant_id }] = (
    await call<[{ assistant_id: string }]>('POST', '/assistants/search', { graph_id: 'made' })
  ).body;
  expect((await call('GET', `/assistants/${assistant_id}/graph`)).text).toContain(
    'assistants-read',
  );
  expect((await call('GET', `/threads/${thread}/state`)).status).toBe(200);
});
