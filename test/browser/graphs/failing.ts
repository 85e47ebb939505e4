import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

/** Fails with the message that the environment holds. */
export const failing = new StateGraph(MessagesAnnotation)
  .addNode('cook', () => {
    throw new Error(process.env['REASON']);
  })
  .addEdge(START, 'cook')
  .compile();
