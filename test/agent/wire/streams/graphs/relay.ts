import { FakeListChatModel } from '@langchain/core/utils/testing';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

const says = (text: string) => {
  const model = new FakeListChatModel({ responses: [text] });
  return async ({ messages }: typeof MessagesAnnotation.State) => ({
    messages: [await model.invoke(messages)],
  });
};

const inner = new StateGraph(MessagesAnnotation)
  .addNode('whisper', says('In the middle.'))
  .addEdge(START, 'whisper')
  .addEdge('whisper', END)
  .compile();

/** Three models that stream, one after another, the second in a subgraph. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('begin', says('At first.'))
  .addNode('middle', inner)
  .addNode('end', says('At last.'))
  .addEdge(START, 'begin')
  .addEdge('begin', 'middle')
  .addEdge('middle', 'end')
  .addEdge('end', END)
  .compile();
