import type { BaseMessage } from '@langchain/core/messages';
import { END, MessagesZodMeta, START, StateGraph } from '@langchain/langgraph';
import { registry, withLangGraph } from '@langchain/langgraph/zod';
import { z } from 'zod';

const State = z.object({
  messages: z.custom<BaseMessage[]>().register(registry, MessagesZodMeta),
  prompt: withLangGraph(z.string().describe('What to do.'), {
    jsonSchemaExtra: { langgraph_nodes: ['talk'], langgraph_type: 'prompt' },
  }),
  model: z.enum(['small', 'large']),
});
const Context = z.object({ tone: z.string().default('kind') });

export const graph = new StateGraph(State, Context)
  .addNode('talk', () => ({ model: 'small' as const }))
  .addEdge(START, 'talk')
  .addEdge('talk', END)
  .compile();
