import { setTimeout as wait } from 'node:timers/promises';
import { AIMessage } from '@langchain/core/messages';
import { MessagesAnnotation, StateGraph, type LangGraphRunnableConfig } from '@langchain/langgraph';

type State = typeof MessagesAnnotation.State;

/** Slow enough to see the words stream. */
const MILLISECONDS_PER_WORD = 40;

async function speak(state: State, config: LangGraphRunnableConfig): Promise<Partial<State>> {
  const words = (state.messages.at(-1)?.text ?? '').split(/\s+/);
  for (const [index, word] of words.entries()) {
    await wait(MILLISECONDS_PER_WORD, undefined, { signal: config.signal });
    config.writer?.({ word, index });
  }
  return { messages: [new AIMessage({ content: words.join(' ') })] };
}

/** Counts the messages of the thread, which keeps them from run to run. */
function count(state: State): Partial<State> {
  const heard = state.messages.filter((message) => message.getType() === 'human').length;
  return { messages: [new AIMessage({ content: `That was message ${heard} of this thread.` })] };
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('speak', speak)
  .addNode('count', count)
  .addEdge('__start__', 'speak')
  .addEdge('speak', 'count')
  .addEdge('count', '__end__')
  .compile();
