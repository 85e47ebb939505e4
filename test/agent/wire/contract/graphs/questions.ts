import { Annotation, END, interrupt, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ answers: Annotation<string[]>() });

/** Asks three questions in one step. */
export const graph = new StateGraph(State)
  .addNode('ask', () => ({
    answers: ['first', 'second', 'third'].map((question) => interrupt<string, string>(question)),
  }))
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();
