import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import {
  Annotation,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';

/** The answer has `words` words, with a pause of `pause` milliseconds between two letters. */
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  words: Annotation<number>,
  pause: Annotation<number>,
  asks: Annotation<boolean>,
});

/** Sends the answer letter by letter. If the input wants a question, it asks one and then says what was answered. */
export const chat = new StateGraph(State)
  .addNode('answer', async ({ words, pause }, config: LangGraphRunnableConfig) => {
    config.writer?.({ name: 'progress', payload: { step: 'answer' } });
    const text = Array.from({ length: words }, (_, at) => `word${at}`).join(' ');
    const message = await new FakeListChatModel({ responses: [text], sleep: pause }).invoke(
      [new HumanMessage('hi')],
      config,
    );
    return { messages: [message] };
  })
  .addNode('ask', ({ asks }) => {
    if (!asks) return {};
    const said = String(interrupt({ question: 'Shall I go on?' }));
    return { messages: [new AIMessage(`You said ${said}.`)] };
  })
  .addEdge(START, 'answer')
  .addEdge('answer', 'ask')
  .compile();
