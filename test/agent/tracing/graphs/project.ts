import process from 'node:process';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

/** Says into which project LangSmith's library would trace. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('say', () => ({
    messages: [{ role: 'ai', content: String(process.env['LANGSMITH_PROJECT']) }],
  }))
  .addEdge(START, 'say')
  .addEdge('say', END)
  .compile();
