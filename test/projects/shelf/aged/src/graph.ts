import { AIMessage } from '@langchain/core/messages';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';

const answer = async (state: typeof MessagesAnnotation.State) => ({
  messages: [new AIMessage(`turn ${state.messages.filter((message) => message.getType() === 'human').length}`)],
});

export const graph = new StateGraph(MessagesAnnotation).addNode('answer', answer).addEdge('__start__', 'answer').compile();
