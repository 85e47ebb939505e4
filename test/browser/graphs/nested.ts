import { AIMessage } from '@langchain/core/messages';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

const inner = new StateGraph(MessagesAnnotation)
  .addNode('think', () => ({ messages: [new AIMessage('I think.')] }))
  .addNode('write', () => ({ messages: [new AIMessage('I write.')] }))
  .addEdge(START, 'think')
  .addEdge('think', 'write')
  .compile();

/** A graph with a graph as a node. */
export const nested = new StateGraph(MessagesAnnotation)
  .addNode('inner', inner)
  .addEdge(START, 'inner')
  .compile();
