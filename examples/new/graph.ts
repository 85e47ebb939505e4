import { SystemMessage } from '@langchain/core/messages';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { model } from './model.ts';

type State = typeof MessagesAnnotation.State;

const INSTRUCTIONS = new SystemMessage('You are a helpful assistant. Answer in a few sentences.');

/** The thread keeps the messages, so the model sees the whole conversation. */
async function answer({ messages }: State): Promise<Partial<State>> {
  return { messages: [await model.invoke([INSTRUCTIONS, ...messages])] };
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', answer)
  .addEdge('__start__', 'answer')
  .addEdge('answer', '__end__')
  .compile();
