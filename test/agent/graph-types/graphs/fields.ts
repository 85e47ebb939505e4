import {
  END,
  MessagesValue,
  ReducedValue,
  START,
  StateGraph,
  StateSchema,
} from '@langchain/langgraph';
import { z } from 'zod';

const State = new StateSchema({
  messages: MessagesValue,
  count: new ReducedValue(z.number().default(0), {
    reducer: (left: number, right: number) => left + right,
    jsonSchemaExtra: { title: 'How many' },
  }),
  topic: z.string(),
});

export const graph = new StateGraph(State)
  .addNode('talk', () => ({ count: 1 }))
  .addEdge(START, 'talk')
  .addEdge('talk', END)
  .compile();
