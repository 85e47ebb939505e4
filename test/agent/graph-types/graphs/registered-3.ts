import type { BaseMessage } from '@langchain/core/messages';
import { END, MessagesZodMeta, START, StateGraph } from '@langchain/langgraph';
import { withLangGraph } from '@langchain/langgraph/zod';
import { z } from 'zod/v3';

const State = z.object({
  messages: withLangGraph(z.custom<BaseMessage[]>(), MessagesZodMeta),
  prompt: withLangGraph(z.string().describe('What to do.'), {
    jsonSchemaExtra: { langgraph_nodes: ['talk'], langgraph_type: 'prompt' },
  }),
  model: z.enum(['small', 'large']),
});

export const graph = new StateGraph(State)
  .addNode('talk', () => ({ model: 'small' as const }))
  .addEdge(START, 'talk')
  .addEdge('talk', END)
  .compile();
