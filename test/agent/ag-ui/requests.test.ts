import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { eventsOf, newInput, post, readEvents, readText, typesOf, type Event } from './kit.ts';

/* What requests mean, by a client that sends what it likes: questions, messages, state, ids. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/ag-ui/graphs/gx.json' });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Message = { id: string; role: string; content?: string; toolCallId?: string };
type Interrupt = { id: string; message?: string };

const user = (content: string, id: string = randomUUID()): Message => ({
  id,
  role: 'user',
  content,
});
const run = (graph: string, input: object): Promise<Event[]> =>
  eventsOf(`${agent.url}/ag-ui/${graph}`, input);
const outcomeOf = (
  events: Event[],
): { type: string; interrupts?: Interrupt[]; pendingToolCallIds?: string[] } =>
  events.at(-1)!['outcome'] as { type: string };

async function stateOf(threadId: string): Promise<
  Record<string, unknown> & {
    messages: { id: string; type: string; content: string; [field: string]: unknown }[];
  }
> {
  const answer = await fetch(`${agent.url}/threads/${threadId}/state`);
  return (
    (await answer.json()) as {
      values: Awaited<ReturnType<typeof stateOf>>;
    }
  ).values;
}

const runsOf = async (threadId: string): Promise<{ status: string }[]> =>
  (await (await fetch(`${agent.url}/threads/${threadId}/runs`)).json()) as { status: string }[];

describe('a question', () => {
  const asked = async (
    text = 'go',
  ): Promise<{ threadId: string; messages: Message[]; interrupts: Interrupt[] }> => {
    const [threadId, messages] = [randomUUID(), [user(text)]];
    return {
      threadId,
      messages,
      interrupts: outcomeOf(await run('approval', newInput('', { threadId, messages })))
        .interrupts!,
    };
  };
  const answer = (threadId: string, messages: Message[], resume: object[]): Promise<Event[]> =>
    run('approval', newInput('', { threadId, messages, resume }));

  test('is asked again, without a run, by a request that answers none', async () => {
    const { threadId, messages, interrupts } = await asked();
    const again = await run(
      'approval',
      newInput('', { threadId, messages: [...messages, user('hello?')] }),
    );
    expect(typesOf(again)).toEqual([
      'RUN_STARTED',
      'MESSAGES_SNAPSHOT',
      'STATE_SNAPSHOT',
      'RUN_FINISHED',
    ]);
    expect(outcomeOf(again)).toMatchObject({
      type: 'interrupt',
      interrupts: [{ id: interrupts[0]!.id }],
    });
    expect(await runsOf(threadId)).toHaveLength(1);
    const foreign = await answer(threadId, messages, [
      { interruptId: 'another', status: 'resolved', payload: 1 },
    ]);
    expect(outcomeOf(foreign).type).toBe('interrupt');
    expect(await runsOf(threadId)).toHaveLength(1);
  });

  test('that is cancelled is answered with what the bridge says', async () => {
    const { threadId, messages, interrupts } = await asked();
    await answer(threadId, messages, [{ interruptId: interrupts[0]!.id, status: 'cancelled' }]);
    expect((await stateOf(threadId)).messages.at(-1)!.content).toContain(
      '"__agui_cancelled__":true',
    );
  });

  test('of two is answered alone, and the other one comes again', async () => {
    const { threadId, messages, interrupts } = await asked('two');
    expect(interrupts).toHaveLength(2);
    const [first, second] = interrupts;
    const left = outcomeOf(
      await answer(threadId, messages, [
        { interruptId: first!.id, status: 'resolved', payload: 'one' },
      ]),
    );
    expect(left).toMatchObject({ type: 'interrupt', interrupts: [{ id: second!.id }] });
    const done = await answer(threadId, messages, [
      { interruptId: second!.id, status: 'resolved', payload: 'two' },
    ]);
    expect(outcomeOf(done).type).toBe('success');
  });

  const sayAnswer = (way: string, interruptId: string, payload: unknown): object =>
    way === 'resume'
      ? { resume: [{ interruptId, status: 'resolved', payload }] }
      : { forwardedProps: { command: { resume: payload } } };

  test.each(['resume', 'a command'])(
    'that three answer at the same time by %s is answered once; the others are refused, and later ones, too',
    async (way) => {
      const { threadId, messages, interrupts } = await asked();
      const send = async (payload: number): Promise<{ status: number; text: string }> => {
        const answers = sayAnswer(way, interrupts[0]!.id, payload);
        const input = newInput('', { threadId, messages, runId: `run-${payload}`, ...answers });
        const reply = await post(`${agent.url}/ag-ui/approval`, input);
        return { status: reply.status, text: await reply.text() };
      };
      const all = await Promise.all([1, 2, 3].map(send));
      expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
      expect((await send(4)).status).toBe(409);
      expect(await runsOf(threadId)).toHaveLength(2);
      const at = all.findIndex(({ status }) => status === 200);
      expect(await send(at + 1)).toEqual({
        status: 200,
        text: expect.stringContaining('"outcome":{"type":"success"}'),
      });
    },
  );

  test.each(['resume', 'a command'])(
    'of a graph that stops before a node lets it go on once, also where three answer by %s',
    async (way) => {
      const [threadId, messages] = [randomUUID(), [user('go')]];
      await run('paused', newInput('', { threadId, messages }));
      const send = async (id: string): Promise<number> => {
        const answers = sayAnswer(way, id, 'yes');
        const input = newInput('', { threadId, messages, ...answers });
        const reply = await post(`${agent.url}/ag-ui/paused`, input);
        await reply.text();
        return reply.status;
      };
      const all = await Promise.all([1, 2, 3].map(() => send('breakpoint:send')));
      expect(all).toContain(200);
      expect((await stateOf(threadId))['items']).toEqual(['written', 'sent']);
      expect(await send('breakpoint:send')).toBe(409);
    },
  );

  test('of a graph that stops before a node is not answered once the thread has gone on', async () => {
    const [threadId, messages] = [randomUUID(), [user('go')]];
    await run('paused', newInput('', { threadId, messages }));
    const postgres = new Client({ connectionString: database.uri });
    await postgres.connect();
    await postgres.query('begin');
    await postgres.query('update gx.thread set runs = runs + 1 where thread_id = $1', [threadId]);
    const resume = [{ interruptId: 'breakpoint:send', status: 'resolved' }];
    const late = post(`${agent.url}/ag-ui/paused`, newInput('', { threadId, messages, resume }));
    await until('the answer waits for the thread', async () => {
      const { rowCount } = await postgres.query(
        "select 1 from pg_locks where not granted and locktype in ('transactionid', 'tuple')",
      );
      return rowCount === 0 ? undefined : true;
    });
    await postgres.query('commit');
    await postgres.end();
    expect((await late).status).toBe(409);
    expect((await stateOf(threadId))['items']).toEqual(['written']);
  });

  test('of a graph that stops before a node is not answered for another node', async () => {
    const [threadId, messages] = [randomUUID(), [user('go')]];
    await run('paused', newInput('', { threadId, messages }));
    const answers = sayAnswer('resume', 'breakpoint:other', 'yes');
    const again = await run('paused', newInput('', { threadId, messages, ...answers }));
    expect(outcomeOf(again)).toMatchObject({
      type: 'interrupt',
      interrupts: [{ id: 'breakpoint:send' }],
    });
    expect((await stateOf(threadId))['items']).toEqual(['written']);
  });

  test('that was answered lets a new message go on, whatever else the page says', async () => {
    const { threadId, messages, interrupts } = await asked();
    const resume = [{ interruptId: interrupts[0]!.id, status: 'resolved', payload: 1 }];
    await answer(threadId, messages, resume);
    const events = await answer(threadId, [...messages, user('two')], resume);
    expect(outcomeOf(events)).toMatchObject({ type: 'interrupt' });
    expect(outcomeOf(events).interrupts).toHaveLength(2);
  });

  test('is answered as pages from before resume do it', async () => {
    const { threadId, messages } = await asked();
    const events = await run(
      'approval',
      newInput('', { threadId, messages, forwardedProps: { command: { resume: 'old' } } }),
    );
    expect(outcomeOf(events).type).toBe('success');
    expect((await stateOf(threadId)).messages.at(-1)!.content).toBe('You said "old".');
  });

  test('of human-in-the-loop middleware names its call and the form of the answer, which may be a refusal', async () => {
    const threadId = randomUUID();
    const messages = [user('go')];
    for (const [status, payload, decided] of [
      ['resolved', { decisions: [{ type: 'approve' }] }, 'approve'],
      ['cancelled', undefined, 'reject'],
    ] as const) {
      messages.push(user(status));
      const { type, interrupts } = outcomeOf(
        await run('guarded', newInput('', { threadId, messages })),
      );
      const { messages: held } = await stateOf(threadId);
      const [{ id }] = held.at(-1)!['tool_calls'] as [{ id: string }];
      expect([type, interrupts]).toMatchObject([
        'interrupt',
        [
          {
            reason: 'langgraph:interrupt',
            message: 'May delete a.txt go?',
            toolCallId: id,
            responseSchema: { required: ['decisions'] },
          },
        ],
      ]);
      const resume = [{ interruptId: interrupts![0]!.id, status, payload }];
      const done = await run('guarded', newInput('', { threadId, messages, resume }));
      expect(outcomeOf(done).type).toBe('success');
      expect(done.findLast((event) => event.type === 'TOOL_CALL_RESULT')).toMatchObject({
        toolCallId: id,
        content: decided,
      });
    }
  });

  test('of a graph that stops before a node, and asks nothing, lets it go on', async () => {
    const threadId = randomUUID();
    const messages = [user('go')];
    const { type, interrupts } = outcomeOf(
      await run('paused', newInput('', { threadId, messages })),
    );
    expect([type, interrupts]).toMatchObject([
      'interrupt',
      [{ id: 'breakpoint:send', reason: 'langgraph:breakpoint' }],
    ]);
    const resume = [{ interruptId: 'breakpoint:send', status: 'resolved' }];
    const done = await run('paused', newInput('', { threadId, messages, resume }));
    expect(outcomeOf(done).type).toBe('success');
    expect((await stateOf(threadId))['items']).toEqual(['written', 'sent']);
  });

  test('reaches a client from before outcomes as an event of its own, too', async () => {
    const events = await run('approval', newInput('go', { protocolVersion: undefined }));
    expect(
      events.filter(({ type }) => type === 'CUSTOM').map(({ name, value }) => [name, value]),
    ).toContainEqual([
      'on_interrupt',
      { message: 'May I?', reason: 'approval', options: ['yes', 'no'] },
    ]);
    expect(outcomeOf(events).type).toBe('interrupt');
  });
});

describe('messages', () => {
  /** Holds a conversation of so many turns, and returns what a client has of it. */
  async function talk(turns: number): Promise<{ threadId: string; messages: Message[] }> {
    const threadId = randomUUID();
    const messages: Message[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      messages.push(user(`turn ${turn}`));
      await run('chat', newInput('', { threadId, messages }));
      const { id, content } = (await stateOf(threadId)).messages.at(-1)!;
      messages.push({ id, role: 'assistant', content: readText(content) });
    }
    return { threadId, messages };
  }
  const textsOf = async (threadId: string): Promise<string[]> =>
    (await stateOf(threadId)).messages.map(({ content }) => readText(content));

  test('that the thread has already are not sent again, also by a client that shows only some of them', async () => {
    const { threadId, messages } = await talk(2);
    await run('chat', newInput('', { threadId, messages: [...messages.slice(2), user('third')] }));
    expect(await textsOf(threadId)).toEqual([
      'turn 0',
      'You said: turn 0',
      'turn 1',
      'You said: turn 1',
      'third',
      'You said: third',
    ]);
  });

  test('of which one was edited begin again before it', async () => {
    const { threadId, messages } = await talk(3);
    const edited = [...messages.slice(0, 2), { ...messages[2]!, content: 'changed' }];
    await run('chat', newInput('', { threadId, messages: edited }));
    expect(await textsOf(threadId)).toEqual([
      'turn 0',
      'You said: turn 0',
      'changed',
      'You said: changed',
    ]);
  });

  test('that end with one which the thread has answered have it answered again', async () => {
    const { threadId, messages } = await talk(2);
    const before = await runsOf(threadId);
    const events = await run('chat', newInput('', { threadId, messages: messages.slice(0, 3) }));
    expect(outcomeOf(events).type).toBe('success');
    expect(await textsOf(threadId)).toEqual([
      'turn 0',
      'You said: turn 0',
      'turn 1',
      'You said: turn 1',
    ]);
    expect(await runsOf(threadId)).toHaveLength(before.length + 1);
    const { messages: now } = await stateOf(threadId);
    expect(now.at(-1)!.id).not.toBe(messages.at(-1)!.id);
  });

  test('that answer a call with a picture keep it, for the graph and for the page', async () => {
    const threadId = randomUUID();
    const messages: object[] = [user('paint')];
    const tools = [{ name: 'paint', description: 'Paints.', parameters: { type: 'object' } }];
    const asked = await run('chat', newInput('', { threadId, messages, tools }));
    const [toolCallId] = outcomeOf(asked).pendingToolCallIds!;
    const [, said] = (await stateOf(threadId)).messages;
    const content = [
      { type: 'text', text: 'Look.' },
      { type: 'image', source: { type: 'data', value: 'AAAA', mimeType: 'image/png' } },
    ];
    messages.push(
      {
        id: said!.id,
        role: 'assistant',
        toolCalls: [
          {
            id: toolCallId,
            type: 'function',
            function: { name: 'paint', arguments: '{"colour":"red"}' },
          },
        ],
      },
      { id: 'my-answer', role: 'tool', toolCallId, content },
    );
    const done = await run('chat', newInput('', { threadId, messages, tools }));
    expect(outcomeOf(done)).toEqual({ type: 'success' });
    expect(done.filter(({ type }) => type === 'MESSAGES_SNAPSHOT')).toEqual([]);
    expect((await stateOf(threadId)).messages[2]).toMatchObject({
      type: 'tool',
      content: [
        { type: 'text', text: 'Look.' },
        { type: 'image', data: 'AAAA' },
      ],
    });
    const [told] = (
      await eventsOf(`${agent.url}/ag-ui/chat/connect`, newInput('', { threadId, messages: [] }))
    ).filter(({ type }) => type === 'MESSAGES_SNAPSHOT');
    expect((told!['messages'] as Message[])[2]).toMatchObject({
      role: 'tool',
      toolCallId,
      content,
    });
  });

  test('that answer a call of the page in three ways at the same time make one run; others are refused', async () => {
    const threadId = randomUUID();
    const messages: object[] = [user('paint')];
    const tools = [{ name: 'paint', description: 'Paints.', parameters: { type: 'object' } }];
    const first = await run('chat', newInput('', { threadId, messages, tools }));
    const [toolCallId] = outcomeOf(first).pendingToolCallIds!;
    const [, said] = (await stateOf(threadId)).messages;
    const call = { id: toolCallId, type: 'function', function: { name: 'paint', arguments: '{}' } };
    messages.push({ id: said!.id, role: 'assistant', toolCalls: [call] });
    const send = async (content: string): Promise<{ status: number; text: string }> => {
      const answer = { id: `answer-${content}`, role: 'tool', toolCallId, content };
      const input = newInput('', {
        threadId,
        runId: content,
        messages: [...messages, answer],
        tools,
      });
      const reply = await post(`${agent.url}/ag-ui/chat`, input);
      return { status: reply.status, text: await reply.text() };
    };
    const colours = ['red', 'blue', 'green'];
    const all = await Promise.all(colours.map(send));
    expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
    expect((await send('black')).status).toBe(409);
    expect(await runsOf(threadId)).toHaveLength(2);
    const taken = colours[all.findIndex(({ status }) => status === 200)]!;
    expect(await textsOf(threadId)).toEqual(['paint', '', taken, 'Done.']);
    expect((await send(taken)).text).toContain('Done.');
  });

  test('of a stream that was cut leave no call without an answer in the thread', async () => {
    const { threadId, messages } = await talk(1);
    const call = { type: 'function', function: { name: 'search', arguments: '{"que' } };
    const cut = [
      { id: 'cut-1', role: 'assistant', content: 'I will', toolCalls: [{ id: 'cut-a', ...call }] },
      { id: 'cut-2', role: 'assistant', toolCalls: [{ id: 'cut-b', ...call }] },
      { id: 'within', role: 'assistant', content: 'I help.', subagentRunId: 'tools:1' },
    ];
    await run('chat', newInput('', { threadId, messages: [...messages, ...cut, user('go on')] }));
    const { messages: held } = await stateOf(threadId);
    expect(held.map(({ content }) => readText(content))).toEqual([
      'turn 0',
      'You said: turn 0',
      'I will',
      'go on',
      'You said: go on',
    ]);
    expect(held.flatMap((message) => message['tool_calls'] ?? [])).toEqual([]);
  });

  test('of a conversation that was held elsewhere become those of a new thread', async () => {
    const threadId = randomUUID();
    const foreign: object[] = [
      { id: 's', role: 'system', content: 'Be brief.' },
      {
        id: 'u',
        role: 'user',
        content: [
          { type: 'text', text: 'look' },
          { type: 'image', source: { type: 'url', value: 'https://example.com/a.png' } },
        ],
      },
      { id: 'r', role: 'reasoning', content: 'Hm.' },
      {
        id: 'a',
        role: 'assistant',
        toolCalls: [
          { id: 'c', type: 'function', function: { name: 'search', arguments: '{"query":"x"}' } },
        ],
      },
      { id: 't', role: 'tool', toolCallId: 'c', content: 'found x' },
      { id: 'p', role: 'activity', activityType: 'PLAN', content: { steps: [] } },
      user('go on'),
    ];
    await run('chat', newInput('', { threadId, messages: foreign }));
    const { messages } = await stateOf(threadId);
    expect(messages.map(({ type }) => type)).toEqual([
      'system',
      'human',
      'ai',
      'tool',
      'human',
      'ai',
    ]);
    expect(messages[2]).toMatchObject({
      tool_calls: [{ id: 'c', name: 'search', args: { query: 'x' } }],
    });
  });

  test('none of which is new let the graph run on its state', async () => {
    const { threadId, messages } = await talk(1);
    const events = await run(
      'shared',
      newInput('', { threadId, messages, state: { note: 'from the page' } }),
    );
    expect(outcomeOf(events).type).toBe('success');
    expect(await stateOf(threadId)).toMatchObject({ note: 'from the page!' });
  });
});

describe('state', () => {
  test('of the page that equals that of the thread is not added once more by a reducer', async () => {
    const threadId = randomUUID();
    await run('shared', newInput('a', { threadId, state: { items: ['mine'], note: 'n' } }));
    const after = await stateOf(threadId);
    expect(after['items']).toEqual(['mine', 'item 1', 'item 2']);
    await run(
      'shared',
      newInput('b', { threadId, state: { items: after['items'], note: after['note'] } }),
    );
    expect((await stateOf(threadId))['items']).toEqual([
      'mine',
      'item 1',
      'item 2',
      'item 3',
      'item 4',
    ]);
  });

  test('that no field of the graph has, or that belongs to doors, is passed over', async () => {
    const threadId = randomUUID();
    const events = await run(
      'shared',
      newInput('a', { threadId, state: { unknown: 1, messages: [{ id: 'x' }], copilotkit: {} } }),
    );
    expect(outcomeOf(events).type).toBe('success');
    expect(Object.keys(await stateOf(threadId)).toSorted()).toEqual(['items', 'messages', 'note']);
  });

  test('reaches the client by snapshots and deltas that make that of the thread', async () => {
    const threadId = randomUUID();
    const long = Array.from({ length: 50 }, (_, at) => `a long item of the page ${at}`);
    const events = await run('shared', newInput('a', { threadId, state: { items: long } }));
    const deltas = events
      .filter(({ type }) => type === 'STATE_DELTA')
      .flatMap(({ delta }) => delta as { path: string }[]);
    expect(deltas.map(({ path }) => path)).toContain('/items/-');
  });
});

describe('a graph made for the bridge', () => {
  const find = (events: Event[], type: string, field: string, value: string): number =>
    events.findIndex((event) => event.type === type && event[field] === value);

  test('tells the page which field of its state the arguments of a call become', async () => {
    const events = await run('chat', newInput('predict'));
    const [predicts, begins] = [
      find(events, 'CUSTOM', 'name', 'PredictState'),
      find(events, 'TOOL_CALL_START', 'toolCallName', 'write'),
    ];
    expect(events[predicts]).toMatchObject({
      value: [{ state_key: 'note', tool: 'write', tool_argument: 'text' }],
    });
    expect(begins).toBe(predicts + 1);
    expect(events.findLast(({ type }) => type === 'STATE_SNAPSHOT')).toMatchObject({
      snapshot: { note: 'foretold' },
    });
  });

  test('tells its state, messages and calls by hand, and in the end the page has those of the thread', async () => {
    const input = newInput('by hand') as { threadId: string };
    const events = await run('chat', input);
    const state = events.findIndex(
      (event) => event.type.startsWith('STATE_') && JSON.stringify(event).includes('halfway'),
    );
    expect(state).toBeGreaterThan(0);
    const text = find(events, 'TEXT_MESSAGE_CONTENT', 'delta', 'Busy.');
    const call = find(events, 'TOOL_CALL_START', 'toolCallName', 'look');
    expect([state < text, text < call]).toEqual([true, true]);
    expect(events[call + 1]).toMatchObject({ type: 'TOOL_CALL_ARGS', delta: '{"at":"x"}' });
    expect(events[find(events, 'CUSTOM', 'name', 'anything')]).toMatchObject({ value: { a: 1 } });
    expect(find(events, 'CUSTOM', 'name', 'gx.usage')).toBe(-1);
    const last = events.findLast(({ type }) => type === 'MESSAGES_SNAPSHOT');
    const { messages } = await stateOf(input.threadId);
    expect((last!['messages'] as Message[]).map(({ id }) => id)).toEqual(
      messages.map(({ id }) => id),
    );
  });

  test('hides what its model says until the thread has it', async () => {
    const told = async (words: string): Promise<string[]> =>
      (await run('chat', newInput(words)))
        .filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT')
        .map(({ delta }) => String(delta));
    expect(await told('hidden words')).toEqual(['You said: hidden words']);
    expect((await told('shown words')).length).toBeGreaterThan(1);
  });
});

describe('ids', () => {
  test.each(['chat-1', 'ÄÖ 🎈', 'x'.repeat(255)])(
    'a thread may have any name, such as "%s"',
    async (name) => {
      const threadId = `${name.slice(0, 200)}${randomUUID().slice(0, 8)}`;
      const messages = [user('hello')];
      const first = await post(`${agent.url}/ag-ui/chat`, newInput('', { threadId, messages }));
      const events = readEvents(await first.text());
      expect(events[0]).toMatchObject({ type: 'RUN_STARTED', threadId });
      expect(first.headers.get('content-location')).toMatch(
        /^\/threads\/[0-9a-f-]{36}\/runs\/[0-9a-f-]{36}$/,
      );
      const again = await run(
        'chat',
        newInput('', { threadId, messages: [...messages, user('more')] }),
      );
      expect(outcomeOf(again).type).toBe('success');
      const real = first.headers.get('content-location')!.split('/')[2]!;
      expect((await stateOf(real)).messages).toHaveLength(4);
    },
  );

  test('a UUID is the thread, in capitals as well', async () => {
    const threadId = randomUUID();
    await run('chat', newInput('hello', { threadId: threadId.toUpperCase() }));
    expect((await stateOf(threadId)).messages).toHaveLength(2);
  });

  test('the same request twenty times at once is one run, whose events everybody gets', async () => {
    const input = newInput('calls');
    const all = await Promise.all(Array.from({ length: 20 }, () => run('chat', input)));
    const { threadId } = input as { threadId: string };
    expect(await runsOf(threadId)).toHaveLength(1);
    const told = all.map((events) =>
      events
        .filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT')
        .map(({ delta }) => delta)
        .join(''),
    );
    expect(new Set(told)).toEqual(new Set(['Done.']));
  });
});

test.each([
  [{ threadId: '' }, 422, 'threadId'],
  [{ messages: [{ role: 'user', content: 'no id' }] }, 422, 'messages'],
  [{ messages: [{ id: 'a', role: 'user', content: 7 }] }, 422, 'content'],
  [{ messages: [{ id: 'a', role: 'tool', content: 'whose?' }] }, 422, 'toolCallId'],
  [{ messages: [{ id: 'a', role: 'wizard', content: 'x' }] }, 422, 'role'],
  [{ protocolVersion: '2.0' }, 400, 'protocolVersion'],
  [{ resume: [{ interruptId: 'a', status: 'perhaps' }] }, 422, 'status'],
])('a body with %j is refused with %i before a stream begins', async (more, status, field) => {
  const answer = await post(`${agent.url}/ag-ui/chat`, newInput('x', more));
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toContain('application/json');
  expect(await answer.text()).toContain(field);
});

test('an agent that is not there is 422, its capabilities are those of the protocol, and the list names its door', async () => {
  expect((await post(`${agent.url}/ag-ui/nowhere`, newInput('x'))).status).toBe(422);
  const { AgentCapabilitiesSchema } = await import('@ag-ui/core/schemas');
  const capabilities = (await (await fetch(`${agent.url}/ag-ui/chat`)).json()) as object;
  expect(AgentCapabilitiesSchema.parse(capabilities)).toMatchObject({
    identity: { name: 'chat' },
    transport: { streaming: true },
  });
  const list = (await (await fetch(`${agent.url}/ag-ui`)).json()) as {
    name: string;
    url: string;
  }[];
  expect(list.map(({ name }) => name).toSorted()).toEqual([
    'approval',
    'chat',
    'guarded',
    'paused',
    'shared',
  ]);
  expect(list[0]!.url).toBe(`${agent.url}/ag-ui/${(list[0] as unknown as { id: string }).id}`);
});
