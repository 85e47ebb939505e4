import { END, interrupt, START, StateGraph } from '@langchain/langgraph';
import { z } from 'zod';

const State = z.object({
  request: z.string(),
  first: z.unknown().optional(),
  second: z.unknown().optional(),
});

/** Stops to ask two people at once, in words, and goes on with both answers. */
export const graph = new StateGraph(State)
  .addNode('one', ({ request }) => ({ first: interrupt(`One: may I ${request}?`) }))
  .addNode('other', ({ request }) => ({ second: interrupt(`Other: may I ${request}?`) }))
  .addEdge(START, 'one')
  .addEdge(START, 'other')
  .addEdge('one', END)
  .addEdge('other', END);
