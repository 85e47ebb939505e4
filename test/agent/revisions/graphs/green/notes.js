import { Annotation, END, interrupt, START, StateGraph } from '@langchain/langgraph';

const marked = (note) => `green: ${note}`;

const notes = Annotation({
  reducer: (before, after) => [...before, ...after.map(marked)],
  default: () => [],
});

/** Asks for notes. Its reducer marks each with the revision that has added it. */
export const graph = new StateGraph(Annotation.Root({ notes }))
  .addNode('inquire', () => ({ notes: [interrupt('More?')] }))
  .addEdge(START, 'inquire')
  .addEdge('inquire', END);
