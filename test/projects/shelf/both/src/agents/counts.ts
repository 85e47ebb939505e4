import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ count: Annotation<number>({ reducer: (left, right) => left + right, default: () => 0 }) });

export const graph = new StateGraph(State)
  .addNode('step', () => ({ count: 10 }))
  .addEdge(START, 'step')
  .addEdge('step', END)
  .compile();
