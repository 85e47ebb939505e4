import { FakeListChatModel } from '@langchain/core/utils/testing';
import { END, interrupt, MessagesZodMeta, START, StateGraph } from '@langchain/langgraph';
import { withLangGraph } from '@langchain/langgraph/zod';
import { z } from 'zod';

const State = z.object({
  topic: z.string(),
  messages: withLangGraph(z.array(z.any()), MessagesZodMeta),
  notes: withLangGraph(z.array(z.string()), {
    reducer: { fn: (a, b) => a.concat(b) },
    default: () => [],
  }),
});

const model = new FakeListChatModel({ responses: ['Tea it is.'] });

export const graph = new StateGraph(State)
  .addNode('answer', async ({ messages }) => ({
    messages: [await model.invoke(messages)],
    notes: ['answered'],
  }))
  .addNode('ask', ({ topic }) => ({
    notes: [`told ${interrupt({ question: `More about ${topic}?` })}`],
  }))
  .addEdge(START, 'answer')
  .addEdge('answer', 'ask')
  .addEdge('ask', END)
  .compile();
