import { Annotation, END, interrupt, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ ssn: Annotation<string>(), asks: Annotation<boolean>() });

/** Keeps a number that nobody may read, and asks for more of it where it is told to. */
export const graph = new StateGraph(State)
  .addNode('keep', ({ asks }) =>
    asks ? (interrupt({ question: 'And yours?' }) as { ssn: string }) : {},
  )
  .addEdge(START, 'keep')
  .addEdge('keep', END)
  .compile();
