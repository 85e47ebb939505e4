import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { MemorySaver } from '@langchain/langgraph-checkpoint';
import { expect, test } from 'vitest';
import type { Element } from '../../../../../src/agent/graph-thread/checkpoints/element.ts';
import { ListTexts } from '../../../../../src/agent/graph-thread/checkpoints/list-texts.ts';
import { buildNewValue } from '../../../../../src/agent/graph-thread/checkpoints/new-value.ts';
import { Serde } from '../../../../../src/agent/graph-thread/checkpoints/serde.ts';
import { toStateJson, toJson } from '../../../../../src/agent/graph-thread/serialise.ts';

/* Long lists are written as text from what their steps stored. Clients must not see a difference. */

const serde = new Serde(new MemorySaver().serde);

/** Stores versions of one channel, each compared with the one before, as the checkpointer does. */
function channel(): { texts: ListTexts; store(list: unknown[]): Promise<void> } {
  const texts = new ListTexts();
  let before: readonly Element[] | undefined;
  const store = async (list: unknown[]): Promise<void> => {
    const stored = await buildNewValue({ channel: 'list', values: { list } }, before, {
      serde,
      texts,
    });
    before = stored !== undefined && 'elements' in stored ? stored.elements : undefined;
  };
  return { texts, store };
}

const call = { name: 'look_up', args: { aB: 1 }, id: 'c', type: 'tool_call' as const };
const KINDS: ((n: number) => unknown)[] = [
  (n) => new HumanMessage({ content: `question ${n}`, id: `h${n}`, name: undefined as never }),
  (n) =>
    new AIMessage({
      content: [{ type: 'text', text: `answer ${n}` }],
      id: `a${n}`,
      tool_calls: [call],
    }),
  (n) =>
    new ToolMessage({
      content: 'found',
      tool_call_id: 'c',
      id: `t${n}`,
      artifact: { when: new Date(n), list: [undefined, n] },
    }),
  (n) => ({ n, text: 'plain', none: undefined, nothing: null, deep: [{ n }] }),
  (n) => `text ${n}`,
  (n) => n,
  (n) => new Date(n),
  (n) => new Map([[n, n]]),
  () => undefined,
  () => null,
];
const messages = (size: number): unknown[] =>
  Array.from({ length: size }, (_, n) => KINDS[n % KINDS.length]!(n));

const parsed = (json: string | undefined): unknown => json && JSON.parse(json);

test('a list that grows is written as it would be without what was stored', async () => {
  const { texts, store } = channel();
  for (const size of [20, 21, 40, 41]) {
    const list = messages(size);
    await store(list);
    expect(parsed(texts.getText(list))).toEqual(parsed(toJson(list)));
  }
});

test('a message that a graph changed in place is written as it is when it is stored', async () => {
  const { texts, store } = channel();
  const list = messages(30);
  await store(list);
  const next = [...list, 'more'];
  (next[0] as HumanMessage).content = 'changed';
  await store(next);
  expect(parsed(texts.getText(next))).toEqual(parsed(toJson(next)));
  expect(texts.getText(next)).toContain('changed');
});

test('a list is not known when nobody stored it, when it changed since, or when it is changed in place', async () => {
  const { texts, store } = channel();
  const list = messages(30);
  expect(texts.getText(list)).toBeUndefined();
  await store(list);
  list[3] = 'another';
  expect(texts.getText(list)).toBeUndefined();
  list.push('more');
  await store(list);
  expect(texts.getText(list)).toBeUndefined();
});

test('a state is written from its known lists and its other fields', async () => {
  const { texts, store } = channel();
  const list = messages(30);
  await store(list);
  const state = {
    before: 1,
    list,
    '"quoted"': { a: [1n] },
    none: undefined,
    work: () => 1,
    other: messages(20),
  };
  expect(parsed(toStateJson(state, (one) => texts.getText(one)))).toEqual(parsed(toJson(state)));
  expect(toStateJson({ other: messages(20) }, (one) => texts.getText(one))).toBeUndefined();
  expect(toStateJson(list, (one) => texts.getText(one))).toBeUndefined();
});
