import { END, START, StateGraph } from '@langchain/langgraph';
import { z } from 'zod';

const State = z.object({ name: z.string().optional(), guests: z.array(z.string()).optional() });

const enter = (state: z.infer<typeof State>, config: { configurable?: Record<string, unknown> }) => {
  const user = config.configurable?.['langgraph_auth_user'] as { identity: string } | undefined;
  return { guests: [...(state.guests ?? []), `${state.name ?? 'somebody'} of ${user?.identity}`] };
};

export const graph = new StateGraph(State).addNode('enter', enter).addEdge(START, 'enter').addEdge('enter', END).compile();
