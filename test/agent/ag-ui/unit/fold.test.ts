import { EventSchema } from '@ag-ui/core/schemas';
import { AbstractAgent, verifyEvents, type BaseEvent } from '@ag-ui/client';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { AbstractAgent as AgentBefore } from 'ag-ui-client-before';
import { from, lastValueFrom, toArray } from 'rxjs';
import { describe, expect, test } from 'vitest';
import type { AgUiEvent, RunOutcome } from '../../../../src/agent/ag-ui/events.ts';
import { AgUiFold } from '../../../../src/agent/ag-ui/fold.ts';
import { diffJson, type PatchOperation } from '../../../../src/agent/ag-ui/json-patch.ts';
import { ProtocolEventsOfRun } from '../../../../src/agent/graph-thread/event-streaming/convert.ts';
import { formatEventParams } from '../../../../src/agent/graph-thread/event-streaming/protocol-stream.ts';
import { buildEventName } from '../../../../src/agent/stream/event-name.ts';
import { Chance, randomFrom } from '../plays/acts.ts';

/* Chunks of LangGraph as events of AG-UI, in whose order the protocol's own checks find no fault. */

type Chunk = [namespace: string[], mode: string, payload: unknown];

const view = (isOld = false) => ({ threadId: 't', runId: 'r', state: {}, messages: [], isOld });

function fold(
  chunks: Chunk[],
  { outcome = { type: 'success' }, isOld = false }: { outcome?: RunOutcome; isOld?: boolean } = {},
): AgUiEvent[] {
  const run = new ProtocolEventsOfRun();
  const folding = new AgUiFold(view(isOld));
  const told = chunks
    .flatMap(([namespace, mode, payload]) => run.convertChunk({ namespace, mode, payload }))
    .flatMap((event) => folding.take(buildEventName(event), formatEventParams(event, 0)));
  const last =
    chunks.findLast(([namespace, mode]) => namespace.length === 0 && mode === 'values')?.[2] ?? {};
  return [
    ...folding.begin(),
    ...told,
    ...folding.end(outcome, JSON.parse(JSON.stringify(plain(last)))),
  ];
}

/** Returns a state as a thread's row has it. */
const plain = (state: unknown): unknown => ({
  ...(state as object),
  messages: (
    (state as { messages?: { toDict(): { type: string; data: object } }[] }).messages ?? []
  ).map((message) => {
    const { type, data } = message.toDict();
    return { type, ...data };
  }),
});

/** Passes events through the checks of the protocol's client. Throws for the first that it does not allow. */
const verified = (events: AgUiEvent[]): Promise<unknown[]> => {
  const parsed = events.map((event) => EventSchema.parse(event) as unknown as BaseEvent);
  return lastValueFrom(from(parsed).pipe(verifyEvents(false), toArray()));
};

const TOOLS = 'tools:3c47c320-e31f-f14b-dca0-07581f9d452e';
const human = new HumanMessage({ id: 'h', content: 'research' });
const asks = new AIMessage({
  id: 'sup-1',
  content: '',
  tool_calls: [{ id: 'tc-1', name: 'task', args: { topic: 'v3' } }],
});
const answer = new ToolMessage({ id: 'x', tool_call_id: 'tc-1', content: 'It is typed.' });
const inner = { lc_agent_name: 'researcher' };
const part = (data: object): [object, object] => [data, { run_id: 'm1', langgraph_node: 'model' }];

const RESEARCH: Chunk[] = [
  [[], 'values', { messages: [human] }],
  [[], 'values', { messages: [human, asks] }],
  [[], 'tasks', { id: 't1', name: 'tools', input: {}, metadata: {} }],
  [
    [TOOLS],
    'tools',
    { event: 'on_tool_start', toolCallId: 'tc-1', name: 'task', input: '{"topic":"v3"}' },
  ],
  [[TOOLS], 'values', { messages: [human] }],
  [[TOOLS], 'tasks', { id: 'i1', name: 'model', input: {}, metadata: inner }],
  [[TOOLS, 'model:i1'], 'messages', part({ event: 'message-start', id: 'res-1' })],
  [
    [TOOLS, 'model:i1'],
    'messages',
    part({ event: 'content-block-start', index: 0, content: { type: 'text', text: '' } }),
  ],
  [
    [TOOLS, 'model:i1'],
    'messages',
    part({
      event: 'content-block-delta',
      index: 0,
      delta: { type: 'text-delta', text: 'It is typed.' },
    }),
  ],
  [
    [TOOLS, 'model:i1'],
    'messages',
    part({
      event: 'content-block-finish',
      index: 0,
      content: { type: 'text', text: 'It is typed.' },
    }),
  ],
  [[TOOLS, 'model:i1'], 'messages', part({ event: 'message-finish' })],
  [[TOOLS], 'tasks', { id: 'i1', name: 'model', result: {}, error: null, interrupts: [] }],
  [
    [TOOLS],
    'values',
    { messages: [human, new AIMessage({ id: 'res-1', content: 'It is typed.' })] },
  ],
  [
    [TOOLS],
    'tools',
    {
      event: 'on_tool_end',
      toolCallId: 'tc-1',
      name: 'task',
      output: { update: { messages: [answer] } },
    },
  ],
  [[], 'tasks', { id: 't1', name: 'tools', result: {}, error: null, interrupts: [] }],
  [[], 'values', { messages: [human, asks, answer] }],
];

describe('an agent that a tool runs', () => {
  test('is told with its call, and its messages are tagged', async () => {
    const events = fold(RESEARCH);
    await verified(events);
    expect(events.find(({ type }) => type === 'SUBAGENT_STARTED')).toMatchObject({
      name: 'researcher',
      parentToolCallId: 'tc-1',
    });
    const inside = events.filter(({ messageId }) => messageId === 'res-1');
    expect(inside.map(({ type }) => type)).toEqual([
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
    ]);
    expect(new Set(inside.map(({ subagentRunId }) => subagentRunId))).toEqual(new Set([TOOLS]));
    expect(events.find(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject({
      messageId: 'tool-tc-1',
      content: 'It is typed.',
    });
  });

  test('stays out of the stream of a client that does not know of such agents', async () => {
    const events = fold(RESEARCH, { isOld: true });
    await verified(events);
    expect(events.filter(({ type }) => type.startsWith('SUBAGENT'))).toEqual([]);
    expect(events.filter(({ messageId }) => messageId === 'res-1')).toEqual([]);
  });

  test.each(RESEARCH.map((_, at) => at))(
    'is closed in order when the run ends after chunk %i',
    async (at) => {
      for (const outcome of [
        { type: 'cancelled' },
        { type: 'error', message: 'm', code: 'c' },
      ] as const)
        await expect(verified(fold(RESEARCH.slice(0, at + 1), { outcome }))).resolves.toBeDefined();
    },
  );
});

describe('the messages of an agent within', () => {
  const snapshotsIn = (chunks: Chunk[]): string[][] =>
    fold(chunks)
      .filter(({ type }) => type === 'MESSAGES_SNAPSHOT')
      .map(({ messages }) => (messages as { id: string }[]).map(({ id }) => id));

  test('are in no state, and are no reason to correct the client', () => {
    expect(snapshotsIn(RESEARCH)).toEqual([]);
  });

  test('stay where they are when the client is corrected', () => {
    const changed = new AIMessage({ id: 'sup-2', content: 'All is done.' });
    const rest = [[], 'values', { messages: [asks, human, answer, changed] }] as Chunk;
    expect(snapshotsIn([...RESEARCH, rest])).toEqual([
      ['sup-1', 'res-1'],
      ['sup-1', 'res-1', 'h', 'tool-tc-1', 'sup-2'],
    ]);
  });
});

/** Returns chunks of some models whose pieces come in any order among each other. */
function randomChunks(seed: number): Chunk[] {
  const random = randomFrom(seed);
  const queues = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, model) => {
    const send = (data: object): Chunk => [
      [`node:${model}`],
      'messages',
      [data, { run_id: `m${model}`, langgraph_node: 'node' }],
    ];
    const blocks = Array.from({ length: Math.floor(random() * 4) }, (__, index): Chunk[] => {
      const kind = ['text', 'reasoning', 'call', 'image'][Math.floor(random() * 4)];
      const id = `call-${model}-${index}`;
      const delta = (fields: object): Chunk =>
        send({ event: 'content-block-delta', index, delta: fields });
      if (kind === 'image')
        return [
          send({ event: 'content-block-start', index, content: { type: 'image', url: 'u' } }),
        ];
      if (kind === 'call')
        return [
          send({
            event: 'content-block-start',
            index,
            content: { type: 'tool_call_chunk', id, name: 'f', args: '' },
          }),
          ...(random() < 0.5
            ? [
                delta({ type: 'tool-call-delta', args: '{"a":' }),
                delta({
                  type: 'block-delta',
                  fields: { type: 'tool_call_chunk', args: '{"a":1}' },
                }),
              ]
            : []),
          send({
            event: 'content-block-finish',
            index,
            content: { type: 'tool_call', id, name: 'f', args: { a: 1 } },
          }),
        ];
      return [
        send({ event: 'content-block-start', index, content: { type: kind, [kind!]: '' } }),
        ...(random() < 0.8
          ? [
              delta({ type: `${kind}-delta`, [kind!]: 'one ' }),
              delta({ type: `${kind}-delta`, [kind!]: 'two' }),
            ]
          : []),
        send({
          event: 'content-block-finish',
          index,
          content: { type: kind, [kind!]: 'one two' },
        }),
      ];
    });
    return [
      send({ event: 'message-start', id: `ai-${model}` }),
      ...blocks.flat(),
      send({ event: 'message-finish' }),
    ];
  });
  const chunks: Chunk[] = [];
  while (queues.some((queue) => queue.length > 0)) {
    const left = queues.filter((queue) => queue.length > 0);
    chunks.push(left[Math.floor(random() * left.length)]!.shift()!);
  }
  return random() < 0.3 ? chunks.slice(0, Math.floor(random() * chunks.length)) : chunks;
}

/** Returns chunks as those of a second attempt: messages keep their ids, and runs of models have others. */
const repeatChunks = (chunks: Chunk[]): Chunk[] =>
  chunks.map(([namespace, mode, payload]): Chunk => {
    if (mode !== 'messages') return [namespace, mode, payload];
    const [data, metadata] = payload as [object, { run_id: string }];
    return [namespace, mode, [data, { ...metadata, run_id: `${metadata.run_id}-again` }]];
  });

describe('models that stream at the same time', () => {
  test('keep to the order of the protocol, whatever comes first and wherever the run ends', async () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const chunks = randomChunks(seed);
      await expect(verified(fold(chunks)), `seed ${seed}`).resolves.toBeDefined();
    }
  });
});

/** An agent whose run has these events. */
const playEvents = async (
  Agent: typeof AbstractAgent,
  events: AgUiEvent[],
): Promise<{ id: string; role: string; content?: unknown }[]> => {
  class Player extends Agent {
    run(): ReturnType<AbstractAgent['run']> {
      return from(events as unknown as BaseEvent[]);
    }
  }
  const agent = new Player({ threadId: 't' });
  await agent.runAgent();
  return agent.messages;
};

describe('messages whose worker dies in the middle of them', () => {
  test.each([
    ['1.0.0', AbstractAgent],
    ['0.0.59', AgentBefore as unknown as typeof AbstractAgent],
  ])(
    'are streamed once more to a client of version %s, in the order of the protocol',
    async (_, Agent) => {
      for (let seed = 1; seed <= 100; seed += 1) {
        const chunks = randomChunks(seed);
        const chance = new Chance(seed);
        const messages = ['ai-0', 'ai-1', 'ai-2'].map(
          (id) => new AIMessage({ id, content: chance.oneOf(['one two', 'else']) }),
        );
        const events = fold([
          ...chunks.slice(0, chance.below(chunks.length + 1)),
          ...repeatChunks(chunks),
          [[], 'values', { messages }],
        ]);
        await expect(verified(events), `seed ${seed}`).resolves.toBeDefined();
        const shown = await playEvents(Agent, events);
        expect(
          shown
            .filter(({ role }) => role !== 'reasoning')
            .map(({ id, content }) => ({ id, content })),
          `seed ${seed}`,
        ).toEqual(messages.map(({ id, content }) => ({ id, content })));
      }
    },
  );
});

test.each([
  ['1.0.0', AbstractAgent],
  ['0.0.59', AgentBefore as unknown as typeof AbstractAgent],
])(
  'a client of version %s has the messages of the state in their order, whatever was streamed',
  async (_, Agent) => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const chance = new Chance(seed);
      const messages = ['ai-0', 'ai-1', 'ai-2', 'ai-3', 'h', 'other']
        .filter(() => chance.isLikely(0.7))
        .toSorted(() => chance.below(3) - 1)
        .map((id) =>
          id === 'h' ? human : new AIMessage({ id, content: chance.oneOf(['one two', 'else']) }),
        );
      const chunks = randomChunks(seed);
      const shown = await playEvents(Agent, fold([...chunks, [[], 'values', { messages }]]));
      expect(
        shown.filter(({ role }) => role !== 'reasoning').map(({ id }) => id),
        `seed ${seed}`,
      ).toEqual(messages.map(({ id }) => id));
    }
  },
);

/** Applies operations of RFC 6902, as clients do. */
function apply(value: unknown, operations: PatchOperation[]): unknown {
  let whole = structuredClone(value);
  for (const operation of operations) {
    const keys = operation.path
      .split('/')
      .slice(1)
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = keys.pop();
    if (last === undefined) {
      whole = (operation as { value: unknown }).value;
      continue;
    }
    const holder = keys.reduce<never>((at, key) => at[key as never], whole as never) as
      | Record<string, unknown>
      | unknown[];
    if (Array.isArray(holder)) {
      if (operation.op === 'remove') holder.splice(Number(last), 1);
      else if (operation.op === 'add')
        holder.splice(last === '-' ? holder.length : Number(last), 0, operation.value);
      else holder[Number(last)] = operation.value;
    } else if (operation.op === 'remove') delete holder[last];
    else holder[last] = operation.value;
  }
  return whole;
}

test('a difference makes the second value of the first one', () => {
  const random = randomFrom(7);
  const value = (depth: number): unknown => {
    const kind = Math.floor(random() * (depth > 2 ? 3 : 5));
    if (kind === 0) return Math.floor(random() * 3);
    if (kind === 1) return ['a', 'b/c', 'd~e', ''][Math.floor(random() * 4)];
    if (kind === 2) return null;
    const size = Math.floor(random() * 4);
    if (kind === 3) return Array.from({ length: size }, () => value(depth + 1));
    return Object.fromEntries(
      Array.from({ length: size }, () => [
        ['k', 'l/m', 'n~o', '__proto'][Math.floor(random() * 4)]!,
        value(depth + 1),
      ]),
    );
  };
  for (let round = 0; round < 3000; round += 1) {
    const [before, after] = [value(0), value(0)];
    expect(apply(before, diffJson(before, after))).toEqual(after);
  }
});

test('each of two answers to one call has an id of its own, by which the next run knows it', () => {
  const state = {
    messages: [
      new HumanMessage({ id: 'h', content: 'look' }),
      new AIMessage({ id: 'a', content: '', tool_calls: [{ id: 'c', name: 'look', args: {} }] }),
      new ToolMessage({ id: 't1', tool_call_id: 'c', content: 'one' }),
      new ToolMessage({ id: 't2', tool_call_id: 'c', content: 'two' }),
    ],
  };
  const chunks: Chunk[] = [[[], 'values', state]];
  const snapshot = fold(chunks).findLast(({ type }) => type === 'MESSAGES_SNAPSHOT');
  const messages = snapshot?.['messages'] as { id: string; role: string; content: string }[];
  expect(messages.slice(2).map(({ id, content }) => [id, content])).toEqual([
    ['tool-c', 'one'],
    ['tool-c-2', 'two'],
  ]);
  const next = new AgUiFold({ ...view(), messages });
  expect(next.end({ type: 'success' }, plain(state)).map(({ type }) => type)).toEqual([
    'RUN_FINISHED',
  ]);
});
