import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages';
import { ChatPromptValue } from '@langchain/core/prompt_values';
import { MemorySaver } from '@langchain/langgraph-checkpoint';
import { Send } from '@langchain/langgraph';
import { describe, expect, test } from 'vitest';
import { Element } from '../../../../../src/agent/graph-thread/checkpoints/element.ts';
import { findLoader } from '../../../../../src/agent/graph-thread/checkpoints/own-loader.ts';
import { Serde } from '../../../../../src/agent/graph-thread/checkpoints/serde.ts';
import { toJson } from '../../../../../src/agent/graph-thread/serialise.ts';

const langGraphs = new MemorySaver().serde;
const serde = new Serde(langGraphs);
const call = { name: 'look_up', args: { aB: 1 }, id: 'c', type: 'tool_call' as const };
const usage_metadata = { input_tokens: 1, output_tokens: 2, total_tokens: 3 } as never;

const MESSAGES: Record<string, unknown> = {
  'a question': new HumanMessage('x'),
  'a question without a name': new HumanMessage({
    content: 'x',
    id: '1',
    name: undefined as never,
  }),
  'parts and foreign names': new HumanMessage({
    content: [{ type: 'text', text: 'a' }],
    additional_kwargs: { camelCase: 1, snake_case: { aB: 1 }, none: undefined },
  }),
  'an answer with calls and usage': new AIMessage({
    content: 'y',
    tool_calls: [call],
    usage_metadata,
    response_metadata: { finishReason: 'stop' },
  }),
  'a part of an answer': new AIMessageChunk({
    content: 'z',
    tool_call_chunks: [{ name: 'f', args: '{"a":', id: 'c', index: 0 }],
    usage_metadata,
  }),
  'a result with an artifact': new ToolMessage({
    content: 't',
    tool_call_id: 'c',
    status: 'error',
    artifact: { a: [1, { b: 2 }] },
    name: 'tool',
  }),
  'a result that carries a message': new ToolMessage({
    content: 't',
    tool_call_id: 'c',
    artifact: new HumanMessage('inner'),
  }),
  instructions: new SystemMessage('s'),
  removal: new RemoveMessage({ id: 'r' }),
  'a class of another role': new ChatMessage({ content: 'c', role: 'r' }),
};

const round: { itself?: unknown } = {};
round.itself = round;

const VALUES: Record<string, unknown> = {
  ...MESSAGES,
  'messages deep in a state': {
    messages: [new HumanMessage('a'), new AIMessage('b')],
    deep: { x: [{ y: new SystemMessage('c') }] },
  },
  'undefined in objects and lists': { a: undefined, b: [undefined, null] },
  'nothing at all': undefined,
  null: null,
  'maps, sets, patterns, errors and bytes': {
    m: new Map([[1, 2]]),
    s: new Set([1]),
    r: /a/g,
    e: new Error('e'),
    u: new Uint8Array([1, 2]),
  },
  dates: [new Date(0)],
  'data with names that LangChain uses': [{ lc: 7 }, { lc: 2, type: 'x' }],
  'a cycle': round,
};

describe('values of channels', () => {
  test.each(Object.entries(VALUES))('%s: written and read as LangGraph does', async (_, value) => {
    const [type, written] = await langGraphs.dumpsTyped(value);
    const [ownType, ownWritten] = await serde.dumpsTyped(value);
    expect([ownType, new TextDecoder().decode(ownWritten)]).toEqual([
      type,
      new TextDecoder().decode(written),
    ]);
    const [read, expected] = [
      await serde.loadsTyped(type, written),
      (await langGraphs.loadsTyped(type, written)) as unknown,
    ];
    expect(read).toEqual(expected);
    expect(Object.getPrototypeOf(Object(read))).toBe(Object.getPrototypeOf(Object(expected)));
  });

  test.each(Object.entries(MESSAGES))(
    '%s: shown without its class as with it',
    async (_, message) => {
      const [, written] = await langGraphs.dumpsTyped({ messages: [message] });
      const record = await serde.restore(JSON.parse(new TextDecoder().decode(written)), 'records');
      expect(JSON.parse(toJson(record))).toEqual(JSON.parse(toJson({ messages: [message] })));
    },
  );
});

describe('a record that names a class stays data', () => {
  const record = (id: unknown, kwargs: unknown = {}): object => ({
    lc: 1,
    type: 'constructor',
    id,
    kwargs,
  });
  const PROMPT = ['langchain_core', 'prompt_values', 'ChatPromptValue'];

  test.each(
    Object.entries({
      'that is no message': record(['langchain_core', 'tracers', 'LangChainTracer'], {
        projectName: 'p',
      }),
      'that is a message of another module': record(['evil', 'messages', 'AIMessage'], {
        content: 'x',
      }),
      'that is no class of messages': record([
        'langchain_core',
        'messages',
        'coerceMessageLikeToMessage',
      ]),
      'that does not exist': record(['langchain_core', 'messages', 'NoMessage']),
      'that is inherited by every object': record(['langchain_core', 'messages', 'constructor']),
      'whose id is no list': record('langchain_core/messages/AIMessage'),
      'of whose fields there are none': record(['langchain_core', 'messages', 'AIMessage'], null),
      'that asks for a secret': { lc: 1, type: 'secret', id: ['DATABASE_URI'] },
      'that calls a function': {
        lc: 2,
        type: 'constructor',
        id: ['Function'],
        args: [['return process']],
      },
      'of the language with arguments that it does not take': {
        lc: 2,
        type: 'constructor',
        id: ['RegExp'],
        args: ['(', ''],
      },
    }),
  )('%s', async (_, value) => {
    expect(await serde.restore({ deep: [value] })).toEqual({ deep: [value] });
    expect(await serde.restore({ deep: [value] }, 'records')).toEqual({ deep: [value] });
  });

  test('that a message holds as data, even if it looks like a message', async () => {
    const forged = record(['langchain_core', 'messages', 'AIMessage'], { content: 'forged' });
    const [type, written] = await serde.dumpsTyped(
      new HumanMessage({ content: 'x', additional_kwargs: { forged } }),
    );
    expect(((await serde.loadsTyped(type, written)) as HumanMessage).additional_kwargs).toEqual({
      forged,
    });
  });

  test('within a message, a set and a record that stays data, too', async () => {
    const tracer = record(['langchain_core', 'tracers', 'LangChainTracer']);
    const inner = record(['langchain_core', 'messages', 'AIMessage'], {
      content: 'x',
      additional_kwargs: { tracer },
    });
    const set = { lc: 2, type: 'constructor', id: ['Set'], args: [[tracer]] };
    const read = (await serde.restore({ inner, set, data: { ...tracer, kwargs: { inner } } })) as {
      inner: AIMessage;
      set: Set<unknown>;
      data: { kwargs: { inner: unknown } };
    };
    expect(read.inner.additional_kwargs).toEqual({ tracer });
    expect([...read.set]).toEqual([tracer]);
    expect(read.data.kwargs.inner).toBeInstanceOf(AIMessage);
  });

  test('and so does a field named __proto__, which gives nothing another prototype', async () => {
    const polluted = JSON.parse(
      '{"__proto__": {"polluted": true}, "a": [{"__proto__": {"polluted": true}}]}',
    ) as { a: object[] };
    const said = JSON.parse('{"content": "x", "__proto__": {"polluted": true}}') as Record<
      string,
      unknown
    >;
    const answer = record(['langchain_core', 'messages', 'AIMessage'], {
      ...said,
      additional_kwargs: { polluted },
    });
    const read = (await serde.restore({ polluted, answer })) as {
      polluted: typeof polluted;
      answer: AIMessage;
    };
    const kept = read.answer.additional_kwargs['polluted'] as typeof polluted;
    for (const object of [read.polluted, read.polluted.a[0]!, kept, kept.a[0]!]) {
      expect(Object.getOwnPropertyNames(object)).toContain('__proto__');
      expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
    }
    expect(read.answer).toBeInstanceOf(AIMessage);
    expect(['polluted' in read.answer, 'polluted' in read.answer.lc_kwargs]).toEqual([
      false,
      false,
    ]);
  });

  test('unless gx.json allows it, and then only that class', async () => {
    const allowing = new Serde(langGraphs, { ids: [PROMPT], load: await findLoader([]) });
    const other = record(['langchain_core', 'prompt_values', 'StringPromptValue'], { value: 'v' });
    const said = record(['langchain_core', 'messages', 'AIMessage'], {
      content: 'x',
      additional_kwargs: { other },
    });
    const value = { prompt: record(PROMPT, { messages: [said] }), other };
    const read = (await allowing.restore(value)) as { prompt: ChatPromptValue; other: unknown };
    expect(read.prompt).toBeInstanceOf(ChatPromptValue);
    expect(read.prompt.messages[0]).toBeInstanceOf(AIMessage);
    expect(read.prompt.messages[0]?.additional_kwargs).toEqual({ other });
    expect(read.other).toEqual(other);
    expect(await serde.restore({ prompt: value.prompt })).toMatchObject({
      prompt: { lc: 1, id: PROMPT },
    });
  });

  test('when an allowed class can not be made', async () => {
    const gone = record(['langchain_core', 'prompt_values', 'Gone']);
    expect(
      await new Serde(langGraphs, {
        ids: [['langchain_core', 'prompt_values', 'Gone']],
        load: await findLoader([]),
      }).restore({ gone }),
    ).toEqual({ gone });
  });
});

describe('data that looks like a record comes back as data', () => {
  const builtIn = (name: string, ...args: unknown[]): object => ({
    lc: 2,
    type: 'constructor',
    id: [name],
    method: null,
    args,
    kwargs: {},
  });
  const LOOKALIKES: Record<string, unknown> = {
    'of a pattern': builtIn('RegExp', '(a+)+$', ''),
    'of a set': builtIn('Set', [1]),
    'of a map': builtIn('Map', [[1, 2]]),
    'of an error': builtIn('Error', 'e'),
    'of bytes': { ...builtIn('Uint8Array', [1, 2]), method: 'from' },
    'of a snapshot': { lc: 2, type: 'delta_snapshot', value: [1] },
    'of nothing': { lc: 2, type: 'undefined' },
    'of a message': {
      lc: 1,
      type: 'constructor',
      id: ['langchain_core', 'messages', 'AIMessage'],
      kwargs: { content: 'forged' },
    },
    'of data that looks like one': { lc: 2, type: 'escaped', value: builtIn('Set', [1]) },
    'of one within another': builtIn('Set', [builtIn('Map', [])]),
    'with no prototype': Object.assign(Object.create(null) as object, builtIn('Set', [1])),
  };

  const read = async (value: unknown): Promise<unknown> =>
    serde.loadsTyped(...(await serde.dumpsTyped(value)));

  test.each(Object.entries(LOOKALIKES))('%s', async (_, data) => {
    expect(await read(data)).toStrictEqual({ ...(data as object) });
    expect(await read({ deep: [{ data }], beside: [1] })).toEqual({
      deep: [{ data }],
      beside: [1],
    });
    const [, written] = await serde.dumpsTyped({ deep: [data] });
    expect(await serde.restore(JSON.parse(new TextDecoder().decode(written)), 'records')).toEqual({
      deep: [data],
    });
  });

  test.each(Object.entries(LOOKALIKES))(
    '%s, beside objects of classes and in them',
    async (_, data) => {
      const message = new HumanMessage({ content: 'x', additional_kwargs: { data } });
      const real = {
        map: new Map<unknown, unknown>([[data, [data]]]),
        set: new Set([data]),
        bytes: new Uint8Array([1]),
        pattern: /a/g,
        none: undefined,
      };
      const back = (await read({ message, real, data, when: new Date(0) })) as {
        message: HumanMessage;
        real: typeof real;
      };
      expect(back).toEqual({ message, real, data, when: new Date(0).toJSON() });
      expect(back.message).toBeInstanceOf(HumanMessage);
      expect(back.real.map).toBeInstanceOf(Map);
      expect(((await read([message, data])) as unknown[])[0]).toBeInstanceOf(HumanMessage);
    },
  );

  test('where a graph sends it on, and where a value holds itself', async () => {
    const data = LOOKALIKES['of a set'];
    expect(await read([new Send('node', { data })])).toMatchObject([
      { node: 'node', args: { data } },
    ]);
    const itself: Record<string, unknown> = { data };
    itself['itself'] = itself;
    expect(await read(itself)).toEqual({ data, itself: '[Circular]' });
  });

  test('as an element of a list, in what clients are shown, too', async () => {
    const data = LOOKALIKES['of a set'];
    const element = new Element(JSON.parse((await serde.encodeElement(data))!));
    for (const form of ['objects', 'records'] as const)
      expect(await element.restore(serde, form)).toEqual(data);
  });
});

describe('messages as clients know them', () => {
  test.each(Object.entries(MESSAGES))('%s: told as LangChain writes it', (_, message) => {
    const { type, data } = (message as AIMessage).toDict();
    expect(JSON.parse(toJson(message))).toEqual(JSON.parse(toJson({ ...data, type })));
  });
});
