import { Annotation, END, interrupt, START, StateGraph } from '@langchain/langgraph';

/** Blocks its thread for a while, so that the process can be killed meanwhile. */
const block = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4000);

const marked = (note) => {
  if (note === 'slow') block();
  return `blue: ${note}`;
};

const notes = Annotation({
  reducer: (before, after) => [...before, ...after.map(marked)],
  default: () => [],
});

/** Asks for notes. Its reducer marks each with the revision that has added it. */
export const graph = new StateGraph(Annotation.Root({ notes }))
  .addNode('ask', () => ({ notes: [interrupt('More?')] }))
  .addEdge(START, 'ask')
  .addEdge('ask', END);
