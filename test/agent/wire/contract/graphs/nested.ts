import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  path: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

const inner = new StateGraph(State)
  .addNode('deep', (_, config) => {
    config.writer?.({ at: 'deep' });
    return { path: ['deep'] };
  })
  .addEdge(START, 'deep')
  .addEdge('deep', END)
  .compile();

/** A graph with another one as its node. */
export const graph = new StateGraph(State)
  .addNode('first', () => ({ path: ['first'] }))
  .addNode('sub', inner)
  .addEdge(START, 'first')
  .addEdge('first', 'sub')
  .addEdge('sub', END)
  .compile();
