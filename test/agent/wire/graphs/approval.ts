import { Annotation, END, interrupt, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ request: Annotation<string>(), answer: Annotation<string>() });

/** Stops to ask a person, and goes on with the answer. */
export const graph = new StateGraph(State)
  .addNode('ask', ({ request }) => ({
    answer: interrupt({ question: `May I ${request}?` }) as string,
  }))
  .addEdge(START, 'ask')
  .addEdge('ask', END);
