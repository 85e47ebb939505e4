import { describe, expect, test } from 'vitest';
import {
  toStudioCheckpoint,
  toItems,
  toShownState,
  toStudioThread,
} from '../../../src/console/page/studio/agent-answers.ts';
import { ScannedJson } from '../../../src/console/page/studio/json/json-text.ts';
import { readSlicedState } from '../../../src/console/page/studio/json/sliced-state.ts';
import {
  trimShownText,
  takeLastMessages,
  toShownMessages,
} from '../../../src/console/page/studio/shown-messages.ts';
import {
  describeCheckpoint,
  formatNames,
  formatState,
} from '../../../src/console/page/studio/state-text.ts';

describe('messages of a state', () => {
  test('are shown with the tools that they call, and the answers of these', () => {
    const messages = [
      { type: 'human', id: 'a', content: 'How warm is it?' },
      {
        type: 'ai',
        id: 'b',
        content: '',
        tool_calls: [
          { id: 't1', name: 'weather', args: { at: 'Bonn' } },
          { id: 't2', name: 'clock' },
        ],
      },
      { type: 'tool', id: 'c', tool_call_id: 't1', content: [{ type: 'text', text: '20 °C' }] },
      { type: 'tool', tool_call_id: 't2', content: 'no clock', status: 'error' },
      { type: 'ai', id: 'd', name: 'forecaster', content: [{ type: 'text', text: '20 °C.' }] },
    ];
    expect(toShownMessages(messages)).toMatchObject([
      { key: 'a', who: 'User', text: 'How warm is it?', reasoning: '', calls: [] },
      {
        key: 'b',
        who: 'Agent',
        text: '',
        reasoning: '',
        calls: [
          {
            id: 't1',
            name: 'weather',
            input: '{\n  "at": "Bonn"\n}',
            result: '20 °C',
            failed: false,
          },
          { id: 't2', name: 'clock', input: '{}', result: 'no clock', failed: true },
        ],
      },
      { key: 'd', who: 'forecaster', text: '20 °C.', reasoning: '', calls: [] },
    ]);
  });

  test('keep reasons apart, name what is no text, and repeat no call', () => {
    const content = [
      { type: 'thinking', thinking: 'Hm.' },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'So.' }] },
      'Look: ',
      { type: 'image_url', image_url: { url: 'javascript:alert(1)' } },
      { type: 'tool_use', id: 't', name: 'x', input: {} },
    ];
    expect(toShownMessages([{ role: 'assistant', content }])).toMatchObject([
      { key: '0', who: 'Agent', text: 'Look: \n[image_url]', reasoning: 'Hm.\nSo.', calls: [] },
    ]);
  });

  test('that answer no call stand for themselves', () => {
    const messages = [{ type: 'tool', tool_call_id: 'gone', content: 'late' }];
    expect(toShownMessages(messages)).toMatchObject([{ who: 'Tool', text: 'late' }]);
  });

  test.each([
    [null],
    ['text'],
    [{ type: 'letter', content: 'x' }],
    [{ type: 'toString', content: 'x' }],
  ])('are none in %j', (message) => {
    expect(toShownMessages([message])).toEqual([]);
  });
});

test('of messages that are long together the last ones are shown, and of one that is long its beginning', () => {
  const messages = Array.from({ length: 100 }, (_, at) => ({
    type: 'human',
    id: String(at),
    content: 'x'.repeat(15_000),
  }));
  const { first, shown } = takeLastMessages(messages);
  expect([first, shown.length, shown.at(-1)?.key]).toEqual([95, 5, '99']);
  expect(takeLastMessages([{ type: 'human', content: 'x'.repeat(900_000) }]).shown).toHaveLength(1);
  expect(
    takeLastMessages(Array.from({ length: 300 }, () => ({ type: 'human', content: 'hi' }))).first,
  ).toBe(100);
  expect(trimShownText('x'.repeat(30_000))).toHaveLength(8000 + ' … (30000 letters)'.length);
});

test('a large state is read a message at a time, and long fields are cut', async () => {
  const long = `\\"${'y\\n'.repeat(300_000)}`;
  const values = {
    messages: [
      { type: 'human', id: 'a', content: long },
      { type: 'ai', id: 'b', content: 'short' },
    ],
    other: long,
  };
  const state = {
    values,
    checkpoint_id: 'c',
    next: ['say'],
    interrupts: [{ id: 'i', value: 'why' }],
    created_at: '2026-01-01T00:00:00Z',
  };
  const { messages, ...rest } = await readSlicedState(new ScannedJson(JSON.stringify(state)));
  expect(rest).toEqual({
    id: 'c',
    next: ['say'],
    interrupts: [{ id: 'i', value: 'why' }],
    madeAt: '2026-01-01T00:00:00Z',
    fault: '',
  });
  expect(messages[1]).toEqual({ type: 'ai', id: 'b', content: 'short' });
  const [first] = messages as { id: string; content: string }[];
  expect(first).toMatchObject({ type: 'human', id: 'a' });
  expect(long.startsWith(first!.content.replace(/ … \(\d+ letters\)$/, ''))).toBe(true);
  expect(first!.content.length).toBeLessThan(20_100);
});

test('a picture of a long message stays whole, and a long text beside it is cut', async () => {
  const url = `data:image/png;base64,${'A'.repeat(300_000)}`;
  const content = [
    { type: 'text', text: 'Look.' },
    { type: 'image_url', image_url: { url } },
    { type: 'text', text: 'x'.repeat(300_000) },
  ];
  const json = new ScannedJson(
    JSON.stringify({ values: { messages: [{ type: 'human', id: 'a', content }] } }),
  );
  const { messages } = await readSlicedState(json);
  const [shown] = toShownMessages(messages);
  expect(shown?.files).toEqual([{ kind: 'picture', name: 'A picture', url }]);
  expect(shown?.text.startsWith('Look.')).toBe(true);
  expect(shown?.text.length).toBeLessThan(30_000);
});

test('of many messages the last ones are read, and the ids of those before them', async () => {
  const many = Array.from({ length: 300 }, (_, at) => ({
    id: `m${at}`,
    type: 'human',
    content: `${at}`,
  }));
  const { messages, interrupts } = await readSlicedState(
    new ScannedJson(JSON.stringify({ values: { messages: many }, interrupts: many })),
  );
  expect(messages).toHaveLength(300);
  expect([messages[0], messages[49], messages[50]]).toEqual([
    { id: 'm0' },
    { id: 'm49' },
    many[50],
  ]);
  expect(interrupts).toEqual(many);
});

test.each(['', 'no JSON', '{"values": {"messages": [', 'null', '[1]'])(
  'a state that is "%s" is as good as an empty one',
  async (text) => {
    expect(await readSlicedState(new ScannedJson(text))).toEqual({
      id: '',
      messages: [],
      next: [],
      interrupts: [],
      madeAt: '',
      fault: '',
    });
  },
);

test('a large state is cut before it is shown, and never in the middle of a letter', () => {
  expect(formatState({ a: 1 })).toEqual({ shown: '{\n  "a": 1\n}', letters: 12 });
  const { shown, letters } = formatState('😀'.repeat(10), 4);
  expect([shown, letters]).toEqual(['"😀', 22]);
  expect(formatState(undefined)).toEqual({ shown: '', letters: 0 });
});

test('names of nodes in a sentence are cut, and so are many of them', () => {
  expect(formatNames(['__start__'])).toBe('the first node');
  expect(formatNames(['a', 'n'.repeat(70)])).toBe(`a, ${'n'.repeat(60)} …`);
  expect(formatNames(Array.from({ length: 22 }, () => 'a')).endsWith(', a, 2 more')).toBe(true);
});

test.each([
  [{ source: 'input', step: -1 }, 'Input'],
  [{ source: 'loop', step: 3 }, 'Step 3'],
  [{ source: 'update', step: 4 }, 'Edited 4'],
  [{ source: 'toString' }, 'Checkpoint'],
  [null, 'Checkpoint'],
])('a checkpoint of %j is called %s', (metadata, words) => {
  expect(describeCheckpoint(metadata)).toBe(words);
});

test.each([
  [{ title: 'Trip' }, {}, 'Trip'],
  [{}, { first: 'x'.repeat(500) }, 'x'.repeat(120)],
  [{}, { first: [{ type: 'image_url' }, { type: 'text', text: 'look' }] }, 'look'],
  [null, null, ''],
  [{ title: 5 }, { first: [] }, ''],
])('a thread of %j is known by its beginning %j', (metadata, extracted, title) => {
  expect(toStudioThread({ metadata, extracted }).title).toBe(title);
});

test.each([
  [null],
  ['text'],
  [[1]],
  [{}],
  [
    {
      thread_id: {},
      status: [],
      updated_at: 'never',
      created_at: 1,
      next: [{}],
      interrupts: 'x',
      metadata: 'm',
    },
  ],
])('an answer of %j is as good as an empty one', (answer) => {
  expect(toStudioThread(answer)).toEqual({
    id: '',
    status: '',
    changedAt: '',
    metadata: {},
    title: '',
    error: '',
    stack: '',
  });
  expect(toStudioCheckpoint(answer)).toEqual({
    id: '',
    parent: '',
    madeAt: '',
    metadata: {},
    next: [],
  });
  expect(toShownState(answer)).toEqual({
    id: '',
    messages: [],
    next: [],
    interrupts: [],
    madeAt: '',
    fault: '',
  });
});

test.each([
  [{ error: 'RangeError', message: 'count is -1' }, 'RangeError: count is -1'],
  [{ message: 'count is -1' }, 'count is -1'],
  ['text', ''],
])('a state with the error %j says "%s"', (error, fault) => {
  expect(toShownState({ checkpoint_id: 'c', error })).toMatchObject({ id: 'c', fault });
});

test('anything but a list has no items', () => {
  expect([toItems({ length: 1 }), toItems(null), toItems([1])]).toEqual([[], [], [1]]);
});
