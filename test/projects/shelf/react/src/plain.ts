import { END, START, StateGraph, type Runtime } from '@langchain/langgraph';
import * as z from 'zod';

const State = z.object({ text: z.string(), said: z.array(z.string()).optional(), at: z.date().optional() });
const Context = z.object({ ending: z.string().default('.') });

const say = (state: z.infer<typeof State>, runtime: Runtime<z.infer<typeof Context>>) => ({
  said: [...(state.said ?? []), `${state.text}${runtime.context?.ending ?? ' (no context)'}`],
});

export const graph = new StateGraph(State, Context).addNode('say', say).addEdge(START, 'say').addEdge('say', END).compile();
