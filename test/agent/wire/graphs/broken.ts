import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ how: Annotation<string>() });

/** Fails in the ways a user's code does. */
export const graph = new StateGraph(State)
  .addNode('fail', ({ how }) => {
    if (how === 'text') throw 'not an error';
    if (how === 'spin') for (;;);
    if (how === 'exit') process.exit(1);
    throw new TypeError('Boo!');
  })
  .addEdge(START, 'fail')
  .addEdge('fail', END)
  .compile();
