import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

export const graph = new StateGraph(MessagesAnnotation)
  .addNode('breaks', () => {
    throw new RangeError('no such thing');
  })
  .addEdge(START, 'breaks')
  .addEdge('breaks', END)
  .compile();
