import { AIMessage } from '@langchain/core/messages';
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ ...MessagesAnnotation.spec, blocks: Annotation<number>() });

/** Says what it was told, with all files of it, and counts them. */
export const graph = new StateGraph(State)
  .addNode('copy', ({ messages }) => {
    const { content } = messages.at(-1)!;
    return { messages: [new AIMessage({ content })], blocks: content.length };
  })
  .addEdge(START, 'copy')
  .addEdge('copy', END)
  .compile();
