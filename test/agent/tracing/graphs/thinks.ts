import { tool } from '@langchain/core/tools';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { z } from 'zod';

const model = new FakeListChatModel({ responses: ['done'] });
const look = tool(() => 'found', {
  name: 'look',
  description: 'Looks something up.',
  schema: z.object({}),
});

const inner = new StateGraph(MessagesAnnotation)
  .addNode('search', async (_, config) => {
    await look.invoke({}, config);
    return {};
  })
  .addEdge(START, 'search')
  .addEdge('search', END)
  .compile();

/** A node that asks a model, and a graph as a node, which uses a tool. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('ask', async ({ messages }, config) => ({
    messages: [await model.invoke(messages, config)],
  }))
  .addNode('research', inner)
  .addEdge(START, 'ask')
  .addEdge('ask', 'research')
  .addEdge('research', END)
  .compile();
