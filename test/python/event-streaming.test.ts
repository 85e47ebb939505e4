import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALL, isRunEnd, WireThread, type ReadEvent } from '../agent/event-streaming/client.ts';
import { capturedData, capturedLines, lines } from '../agent/event-streaming/wire.ts';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';

/* Event streaming of Python graphs. */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startPython(database.uri);
});
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
});

const newThread = (): WireThread & { id: string } => {
  const id = randomUUID();
  return Object.assign(new WireThread(agent.url, id), { id });
};

/** Starts a run on a new thread, and reads its events up to its end. */
async function run(
  assistant_id: string,
  input: unknown,
  channels = ALL,
  thread: WireThread = newThread(),
): Promise<ReadEvent[]> {
  await thread.command('run.start', { assistant_id, input });
  return thread.read({ channels: [...new Set([...channels, 'lifecycle'])] }, isRunEnd);
}

const of = (events: ReadEvent[], method: string): ReadEvent[] =>
  events.filter((event) => event.method === method);
const dataOf = (events: ReadEvent[], method: string): Record<string, unknown>[] =>
  of(events, method).map(({ params }) => params.data);
const without = (all: string[], ...begins: string[]): string[] =>
  all.filter((line) => !begins.some((begin) => line.startsWith(begin)));
const states = (events: ReadEvent[]): string[] => lines(of(events, 'lifecycle'));
const question = { messages: [{ role: 'user', content: 'Hi there' }] };

describe('the events of', () => {
  test('an agent that streams, asks, and calls a subgraph, are those of the captured stream', async () => {
    const thread = newThread();
    await thread.command('run.start', {
      assistant_id: 'agent',
      input: { messages: [], value: 'init', items: [] },
    });
    const first = await thread.read({ channels: ALL }, isRunEnd);
    const [asked] = dataOf(first, 'input.requested');
    expect(asked).toEqual({ interrupt_id: expect.any(String) as string, payload: 'Are we good?' });
    await thread.command('input.respond', {
      interrupt_id: asked!['interrupt_id'],
      namespace: [],
      response: 'yes',
    });
    const second = await thread.read({ channels: ALL, since: first.at(-1)!.seq }, isRunEnd);
    const events = [...first, ...second];
    // The captured server sent the end of the run before its last state, and neither tasks nor checkpoints.
    const places = ['tasks ', 'checkpoints ', 'lifecycle [] '];
    expect(without(lines(events), ...places)).toEqual(
      without(capturedLines('approval'), ...places),
    );
    expect(states(events)).toEqual(
      capturedLines('approval').filter((line) => line.startsWith('lifecycle ')),
    );
    // Some lines were cut during the capture. Clients tell messages apart by the run of the model.
    const whole = [...new Set(capturedLines('approval'))].filter(
      (line) => capturedData('approval', line).length > 0,
    );
    const keysOf = (data: object): string[] =>
      Object.keys(data)
        .filter((key) => key !== 'run_id')
        .toSorted();
    const theirs = whole.map((line) => [line, keysOf(capturedData('approval', line)[0]!)]);
    expect(
      whole.map((line) => [
        line,
        keysOf(events.find((event) => lines([event])[0] === line)!.params.data),
      ]),
    ).toEqual(theirs);
  });

  test('an agent that calls a tool are those of the captured stream', async () => {
    const events = await run('tools_agent', { messages: [{ role: 'human', content: 'search' }] });
    const places = ['tasks ', 'checkpoints ', 'updates '];
    const ended = (all: string[]): string[] =>
      without(all, ...places).map((line) => line.replace('tools:tc-1', 'tools:*'));
    expect(ended(lines(events))).toEqual(ended(capturedLines('tools')));
    expect(dataOf(events, 'tools')).toEqual([
      { event: 'tool-started', tool_call_id: 'tc-1', tool_name: 'search', input: { query: 'v3' } },
      {
        event: 'tool-finished',
        tool_call_id: 'tc-1',
        output: expect.objectContaining({ content: "result for 'v3'" }) as object,
      },
    ]);
    expect(of(events, 'messages')[0]!.params).toMatchObject({
      namespace: ['tools:tc-1'],
      data: { role: 'tool', tool_call_id: 'tc-1' },
    });
  });

  test('an agent that calls another one by a tool are those of the captured stream', async () => {
    const events = await run('deep_agent', { messages: [{ role: 'user', content: 'research' }] });
    const places = ['tasks ', 'checkpoints ', 'updates ', 'tools [] tool-output-delta'];
    expect(without(lines(events), ...places)).toEqual(capturedLines('subagent'));
    const deltas = dataOf(events, 'tools').filter(({ event }) => event === 'tool-output-delta');
    expect(deltas.map(({ delta }) => delta)).toEqual(['asks ', '{"agent":"researcher"}']);
    const started = of(events, 'lifecycle').find(
      ({ params }) => params.data['event'] === 'started',
    )!;
    const [namespace = ''] = started.params.namespace;
    expect(started.params.data).toEqual({
      event: 'started',
      namespace: [namespace],
      graph_name: 'researcher',
      trigger_call_id: namespace.replace('tools:', ''),
      cause: { type: 'toolCall', tool_call_id: 'tc-task-1' },
    });
  });

  test('a graph tell of each checkpoint before its state, and of each task', async () => {
    const events = await run('counter', { to: 2 }, ['checkpoints', 'values', 'tasks']);
    const shown = events.map(({ method, params: { data } }) =>
      method === 'tasks' ? `${method} ${'result' in data ? 'end' : 'start'}` : method,
    );
    const step = ['tasks start', 'tasks end', 'checkpoints', 'values'];
    expect(shown).toEqual(['lifecycle', 'checkpoints', 'values', ...step, ...step, 'lifecycle']);
    const checkpoints = dataOf(events, 'checkpoints');
    expect(checkpoints.map((data) => data['step'])).toEqual([0, 1, 2]);
    expect(checkpoints[2]).toEqual({
      id: expect.any(String) as string,
      parent_id: checkpoints[1]!['id'],
      step: 2,
      source: 'loop',
    });
  });

  test('a state of a class have the fields that the thread has', async () => {
    const events = await run('typed', { profile: { name: 'q' } }, ['values']);
    expect(dataOf(events, 'values').at(-1)).toMatchObject({
      profile: { name: 'p' },
      anything: { name: 'u' },
    });
    const values = await agent.client.runs.wait(null, 'typed', {
      input: { profile: { name: 'q' } },
    });
    const stream = agent.client.threads.stream({ assistantId: 'typed' });
    const { run_id } = await stream.run.start({ input: { profile: { name: 'q' } } });
    expect(await agent.client.runs.join(stream.threadId, run_id!)).toEqual(values);
    await stream.close();
  });
});

describe('messages', () => {
  test('of a state have their content in standard blocks', async () => {
    const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
    const content = ['Look', picture, sound, { type: 'odd', number: 1 }];
    const [first] = dataOf(
      await run('itself', { messages: [{ role: 'user', content }] }),
      'values',
    );
    expect(first).toEqual({
      messages: [
        {
          type: 'human',
          id: expect.any(String) as string,
          content: [
            { type: 'text', text: 'Look' },
            { type: 'image', url: 'https://example.com/a.png' },
            { type: 'audio', base64: 'AAAA', mime_type: 'audio/wav' },
            { type: 'non_standard', value: { type: 'odd', number: 1 } },
          ],
        },
      ],
    });
  });

  test('come token by token, from the node and the run of their model', async () => {
    const events = of(await run('chat', question), 'messages').map(
      ({ params }) => params as typeof params & { node?: string },
    );
    const parts = events.map(({ data }) => data);
    expect(parts[0]).toMatchObject({ event: 'message-start', role: 'ai' });
    expect(parts.at(-1)).toMatchObject({ event: 'message-finish' });
    const deltas = parts
      .filter((part) => part['event'] === 'content-block-delta')
      .map(({ delta }) => (delta as { text: string }).text);
    expect(deltas).toEqual(['You', ' ', 'wrote', ' ', 'Hi', ' ', 'there']);
    expect(new Set(events.map(({ node }) => node))).toEqual(new Set(['talk']));
    expect(new Set(parts.map((part) => part['run_id'])).size).toBe(1);
  });

  test('of a model that its node streams come whole', async () => {
    const parts = dataOf(await run('itself', question), 'messages');
    expect(parts.map((part) => part['event'])).toEqual([
      'message-start',
      'content-block-start',
      'content-block-delta',
      'content-block-finish',
      'message-finish',
    ]);
    expect(parts[3]!['content']).toEqual({ type: 'text', text: 'Part by part' });
  });
});

describe('custom data', () => {
  test('without a name has no channel of its own', async () => {
    const events = await run('streams', { events: 2 }, ['custom']);
    expect(dataOf(events, 'custom')).toEqual(
      [0, 1].map((number) => ({ payload: { number, text: 'Grüße, 世界' } })),
    );
  });

  test('that has no JSON fails the run', async () => {
    const { data } = (await run('cyclic', {})).at(-1)!.params;
    expect(data).toMatchObject({
      event: 'failed',
      error: 'The value is circular, so it has no JSON.',
    });
  });
});

describe('a transformer of the graph', () => {
  test('has its channel, and holds events back', async () => {
    const events = await run('transformed', { messages: [] });
    expect(dataOf(events, 'custom')).toEqual([1, 2].map((payload) => ({ name: 'steps', payload })));
    expect(of(events, 'updates')).toEqual([]);
    expect(dataOf(events, 'values').at(-1)).toMatchObject({ note: 'ran' });
  });

  test('that breaks fails the run, and one that fails to end does not', async () => {
    expect((await run('breaking', {})).at(-1)!.params.data).toMatchObject({
      event: 'failed',
      error: 'The transformer is broken.',
    });
    const events = await run('unkept', {});
    expect(events.at(-1)!.params.data).toEqual({ event: 'completed', graph_name: 'unkept' });
    expect(dataOf(events, 'values').at(-1)).toMatchObject({ note: 'ran' });
  });
});

describe('a question', () => {
  test('of a subgraph has its namespace, is sent once, and is answered at once', async () => {
    const thread = newThread();
    await thread.command('run.start', { assistant_id: 'outer', input: { draft: 'd' } });
    const asked = await thread.read(
      { channels: ['input', 'lifecycle'] },
      ({ method }) => method === 'input.requested',
    );
    const { namespace, data } = asked.at(-1)!.params;
    expect([namespace, data]).toMatchObject([
      [expect.stringMatching(/^inner:/)],
      { payload: { question: 'Is it good?' } },
    ]);
    const answer = { interrupt_id: data['interrupt_id'], namespace, response: 'fine' };
    expect(await thread.command('input.respond', answer)).toMatchObject({ type: 'success' });
    let ends = 0;
    const all = await thread.read(
      { channels: ALL },
      (event) => isRunEnd(event) && (ends += 1) === 2,
    );
    const one = ['running', 'started', 'interrupted', 'interrupted'];
    expect(dataOf(all, 'lifecycle').map(({ event }) => event)).toEqual([
      ...one,
      'running',
      'started',
      'completed',
      'completed',
    ]);
    expect(of(all, 'input.requested')).toHaveLength(1);
    expect(dataOf(all, 'values').at(-1)).toMatchObject({ approved: 'fine', published: true });
  });

  test('is answered at once, however often', async () => {
    const answered = async (answer: string): Promise<unknown> => {
      const thread = newThread();
      await thread.command('run.start', { assistant_id: 'outer', input: { draft: 'd' } });
      await thread.read(
        { channels: ['input', 'lifecycle'] },
        ({ method }) => method === 'input.requested',
      );
      const { result } = await thread.command('run.start', {
        assistant_id: 'outer',
        input: answer,
      });
      return agent.client.runs.join(thread.id, (result as { run_id: string }).run_id);
    };
    const answers = Array.from({ length: 20 }, (_, at) => `the ${at}th`);
    const ends = await Promise.all(answers.map(answered));
    expect(ends).toEqual(answers.map((approved) => ({ draft: 'd', approved, published: true })));
  });

  test('is answered by the official client as soon as it is seen', async () => {
    const stream = agent.client.threads.stream({ assistantId: 'approval' });
    const questions = await stream.subscribe('input');
    await stream.run.start({ input: { draft: 'd' } });
    for await (const event of questions) if (event.method === 'input.requested') break;
    const { run_id } = await stream.run.start({ input: 'by the client' });
    expect(await agent.client.runs.join(stream.threadId, run_id!)).toMatchObject({
      approved: 'by the client',
      published: true,
    });
    await stream.close();
  });
});

describe('a run', () => {
  test('that is stopped ends its subgraph first', async () => {
    const thread = newThread();
    const { result } = await thread.command('run.start', {
      assistant_id: 'patient',
      input: { messages: [] },
    });
    await thread.read(
      { channels: ['lifecycle'] },
      ({ params }) => params.data['event'] === 'started',
    );
    await agent.client.runs.cancel(thread.id, (result as { run_id: string }).run_id, true);
    const events = await thread.read({ channels: ['lifecycle'] }, isRunEnd);
    expect(dataOf(events, 'lifecycle')).toMatchObject([
      { event: 'running', graph_name: 'patient' },
      { event: 'started', graph_name: 'inner' },
      { event: 'interrupted', graph_name: 'inner' },
      { event: 'interrupted', graph_name: 'patient' },
    ]);
  });

  test('that fails says why', async () => {
    const events = await run('fails', {});
    expect(events.at(-1)!.params.data).toEqual({
      event: 'failed',
      graph_name: 'fails',
      error: 'The node fails.',
    });
  });
});

test('a LangGraph without event streaming has such a run refused with a sentence, and serves others', async () => {
  const other = await startPython(database.uri, {}, 'older.gx.json');
  try {
    const started = new WireThread(other.url, randomUUID()).command('run.start', {
      assistant_id: 'older',
      input: question,
    });
    await expect(started).rejects.toThrow(
      /^400: .*Event streaming needs LangGraph 1\.2 or newer, and this is \d/,
    );
    expect(await other.client.runs.wait(null, 'older', { input: question })).toMatchObject({
      messages: [{}, { content: 'Hello' }],
    });
  } finally {
    await other.kill('SIGKILL');
  }
});

test('the official client starts a run, reads its messages, state, questions and subgraphs, and answers', async () => {
  const stream = agent.client.threads.stream({ assistantId: 'agent' });
  const texts: string[] = [];
  const messages = (async () => {
    for await (const message of stream.messages) texts.push(await message.text);
  })();
  await stream.run.start({ input: { messages: [], value: 'init', items: [] } });
  await stream.output;
  expect(stream.interrupted).toBe(true);
  const [asked] = stream.interrupts;
  expect(asked).toMatchObject({ payload: 'Are we good?', namespace: [] });
  await messages;
  expect(texts).toContain('Hello, world!');
  const subgraphs: string[] = [];
  const subs = (async () => {
    for await (const { graphName, name } of stream.subgraphs) subgraphs.push(graphName ?? name);
  })();
  await stream.input.respond({ interrupt_id: asked!.interruptId, namespace: [], response: 'yes' });
  await subs;
  expect(subgraphs).toEqual(['run_subgraph']);
  const { values } = await agent.client.threads.getState<{ items: string[] }>(stream.threadId);
  expect(values.items).toEqual(['streamed', 'tool', 'asked', 'sub']);
  await stream.close();
});
