import { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import { expect, test } from 'vitest';
import { EventsOfRun, chooseGraphModes } from '../../../src/agent/graph-thread/events.ts';
import { toPlainJson, toJson } from '../../../src/agent/graph-thread/serialise.ts';

const sent = (events: unknown): unknown => JSON.parse(toJson(events));

test('values are always asked for, and both message modes come from one', () => {
  expect(chooseGraphModes(['messages', 'messages-tuple', 'events', 'custom'])).toEqual([
    'messages',
    'custom',
    'values',
  ]);
});

test('what was not asked for is not sent, but the last state is kept', () => {
  const run = new EventsOfRun(['custom']);
  expect(run.convertChunk({ namespace: [], mode: 'values', payload: { a: 1 } })).toEqual([]);
  expect(run.convertChunk({ namespace: [], mode: 'custom', payload: 'x' })).toEqual([
    ['custom', 'x'],
  ]);
  expect(run.values).toEqual({ a: 1 });
});

test('events of a subgraph carry its namespace, and do not become the state', () => {
  const run = new EventsOfRun(['values', 'updates']);
  expect(
    run.convertChunk({ namespace: ['sub:1', 'deep:2'], mode: 'values', payload: { b: 2 } }),
  ).toEqual([['values|sub:1|deep:2', { b: 2 }]]);
  expect(run.values).toBeUndefined();
});

test('an interrupt is told together with the state', () => {
  const run = new EventsOfRun(['values']);
  run.convertChunk({ namespace: [], mode: 'values', payload: { a: 1 } });
  const interrupt = [{ id: 'i', value: 'ask' }];
  expect(
    run.convertChunk({ namespace: [], mode: 'values', payload: { __interrupt__: interrupt } }),
  ).toEqual([['values', { a: 1, __interrupt__: interrupt }]]);
  expect(run.stopped).toBe(true);
  expect(run.values).toEqual({ a: 1 });
});

test('collections, patterns and bytes have their contents', () => {
  const bytes = new Uint8Array([1, 2, 255]);
  const state = {
    counts: new Map<unknown, unknown>([
      ['a', new Set([1, 2n])],
      [7, new Map()],
    ]),
    pairs: new Map([[{ of: 'x' }, [new Set(['y'])]]]),
    tags: new Set(['one', new AIMessage({ id: 'm', content: 'Hi' })]),
    pattern: /a+/gi,
    bytes,
    buffers: [Buffer.from(bytes), bytes.buffer, new DataView(bytes.buffer, 1)],
    vector: new Float32Array([0.5, 1]),
    at: new Date(0),
  };
  expect(sent(state)).toEqual({
    counts: { a: [1, '2'], 7: {} },
    pairs: [[{ of: 'x' }, [['y']]]],
    tags: ['one', expect.objectContaining({ type: 'ai', content: 'Hi' })],
    pattern: '/a+/gi',
    bytes: 'AQL/',
    buffers: ['AQL/', 'AQL/', 'Av8='],
    vector: [0.5, 1],
    at: '1970-01-01T00:00:00.000Z',
  });
});

test('a stop before a node has no interrupts to tell', () => {
  const run = new EventsOfRun(['values']);
  expect(
    run.convertChunk({ namespace: [], mode: 'values', payload: { __interrupt__: [] } }),
  ).toEqual([]);
  expect(run.stopped).toBe(true);
});

test('messages mode sends the whole message at every token, its metadata once', () => {
  const run = new EventsOfRun(['messages']);
  const chunk = (content: string) => ({
    namespace: [],
    mode: 'messages',
    payload: [new AIMessageChunk({ id: 'm', content }), { node: 'n' }],
  });
  expect(sent(run.convertChunk(chunk('Hel')))).toMatchObject([
    ['messages/metadata', { m: { metadata: { node: 'n' } } }],
    ['messages/partial', [{ type: 'ai', content: 'Hel', id: 'm' }]],
  ]);
  expect(sent(run.convertChunk(chunk('lo')))).toMatchObject([
    ['messages/partial', [{ content: 'Hello' }]],
  ]);
});

test('messages mode sends a message that did not stream as complete', () => {
  const run = new EventsOfRun(['messages']);
  const events = run.convertChunk({
    namespace: [],
    mode: 'messages',
    payload: [new AIMessage({ id: 'm', content: 'Hi' }), {}],
  });
  expect(sent(events)).toMatchObject([['messages/complete', [{ type: 'ai', content: 'Hi' }]]]);
});

test('messages-tuple mode sends each token with its class, so that clients append it', () => {
  const run = new EventsOfRun(['messages-tuple']);
  const events = run.convertChunk({
    namespace: [],
    mode: 'messages',
    payload: [new AIMessageChunk({ id: 'm', content: 'He' }), { node: 'n' }],
  });
  expect(sent(events)).toMatchObject([
    ['messages', [{ type: 'AIMessageChunk', content: 'He' }, { node: 'n' }]],
  ]);
});

test('messages mode ends streamed messages once the state of their step is known', () => {
  const run = new EventsOfRun(['messages', 'checkpoints']);
  const chunk = (id: string, content: string, namespace: string[] = []) =>
    run.convertChunk({
      namespace,
      mode: 'messages',
      payload: [new AIMessageChunk({ id, content }), {}],
    });
  chunk('m', 'Hel');
  chunk('n', 'Well', ['sub:1']);
  chunk('m', 'lo');
  expect(run.convertChunk({ namespace: ['sub:1'], mode: 'values', payload: {} })).toEqual([]);
  expect(run.convertChunk({ namespace: [], mode: 'values', payload: {} })).toEqual([]);
  expect(
    run.convertChunk({ namespace: [], mode: 'checkpoints', payload: {} }).map(([event]) => event),
  ).toEqual(['checkpoints']);
  expect(sent(run.end())).toMatchObject([
    ['messages/complete', [{ type: 'ai', content: 'Hello', id: 'm' }]],
    ['messages/complete|sub:1', [{ content: 'Well', id: 'n' }]],
  ]);
  expect(run.end()).toEqual([]);
});

test('the plain fields of a state are those that its JSON has neither as objects nor as lists', () => {
  const state = {
    text: 'a',
    big: 7n,
    none: null,
    at: new Date(0),
    boxed: new String('b'),
    list: [1],
    object: {},
    said: new AIMessage('c'),
  };
  const whole = JSON.parse(toJson(state)) as object;
  const plain = Object.fromEntries(
    Object.entries(whole).filter(([, value]) => typeof value !== 'object' || value === null),
  );
  expect(JSON.parse(toPlainJson(state))).toEqual(plain);
  expect(Object.keys(plain)).toEqual(['text', 'big', 'none', 'at', 'boxed']);
});
