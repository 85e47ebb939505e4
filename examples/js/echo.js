import { AIMessage } from '@langchain/core/messages';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';

function speak({ messages }) {
  return { messages: [new AIMessage({ content: messages.at(-1)?.text ?? '' })] };
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('speak', speak)
  .addEdge('__start__', 'speak')
  .addEdge('speak', '__end__')
  .compile();
