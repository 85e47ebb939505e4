import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({
  said: Annotation<string[]>({ reducer: (one, other) => [...one, ...other], default: () => [] }),
});

/** Keeps what was said, in its state and in the store. */
export const graph = new StateGraph(State)
  .addNode('keep', async ({ said }, { store }) => {
    await store?.put(['said'], 'last', { text: said.at(-1) });
    return {};
  })
  .addEdge(START, 'keep')
  .addEdge('keep', END)
  .compile();
