import { Annotation, END, MemorySaver, START, StateGraph } from '@langchain/langgraph';
import { expect, test } from 'vitest';
import { toNodeSelection, findUnknownNode } from '../../src/agent/kernel/nodes.ts';

/* How LangGraph treats the nodes that a call stops at. This server's rules depend on it. */

const State = Annotation.Root({ path: Annotation<string[]>() });
const inner = new StateGraph(State)
  .addNode('deep', () => ({ path: ['deep'] }))
  .addEdge(START, 'deep')
  .addEdge('deep', END)
  .compile();
const graph = new StateGraph(State)
  .addNode('sub', inner)
  .addNode('called', (state, config) => inner.invoke(state, config))
  .addEdge(START, 'sub')
  .addEdge('sub', 'called')
  .addEdge('called', END)
  .compile({ checkpointer: new MemorySaver() });

const nextAfter = async (stop: object): Promise<string[]> => {
  const config = { configurable: { thread_id: crypto.randomUUID() } };
  await graph.invoke({ path: [] }, { ...config, ...stop });
  return (await graph.getState(config)).next;
};

test('LangGraph stops at nodes of the graph, never in a subgraph, and knows "*" only by itself', async () => {
  expect(await nextAfter({ interruptBefore: ['called'] })).toEqual(['called']);
  expect(await nextAfter({ interruptBefore: '*' })).toEqual(['sub']);
  for (const nodes of [['deep'], ['*'], ['sub:deep'], ['nowhere'], ['__end__']])
    for (const stop of [{ interruptBefore: nodes }, { interruptAfter: nodes }])
      expect(await nextAfter(stop)).toEqual([]);
});

test('of the nodes that a call goes to the first that the graph does not have is told', () => {
  const nodes = ['__start__', 'a', 'b'];
  expect(
    findUnknownNode({ command: { goto: ['a', '__end__', { node: 'b' }] } }, nodes),
  ).toBeUndefined();
  expect(findUnknownNode({ command: { goto: ['a', 'c', 'd'] } }, nodes)).toBe('c');
  expect(findUnknownNode({ command: { goto: { node: '__start__' } } }, nodes)).toBe('__start__');
  expect(findUnknownNode({ command: { goto: [null] } }, nodes)).toBe('null');
  expect(findUnknownNode({ command: { goto: ['a', { node: 7 }] } }, nodes)).toBe('7');
  expect(findUnknownNode({ command: null }, nodes)).toBeUndefined();
  expect([toNodeSelection(['a', '*']), toNodeSelection([]), toNodeSelection(null)]).toEqual([
    '*',
    null,
    null,
  ]);
});
