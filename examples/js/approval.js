import { AIMessage } from '@langchain/core/messages';
import { Annotation, interrupt, MessagesAnnotation, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ ...MessagesAnnotation.spec, draft: Annotation() });

function write({ messages }) {
  return { draft: `You said: ${messages.at(-1)?.text ?? ''}` };
}

/** Ends the run as "interrupted". The next run of the thread brings the answer: {"command": {"resume": "yes"}}. */
function ask({ draft }) {
  const answer = interrupt({ question: 'May I say this?', draft });
  return {
    messages: [new AIMessage({ content: answer === 'yes' ? draft : 'I was told not to say it.' })],
  };
}

export const graph = new StateGraph(State)
  .addNode('write', write)
  .addNode('ask', ask)
  .addEdge('__start__', 'write')
  .addEdge('write', 'ask')
  .addEdge('ask', '__end__')
  .compile();
