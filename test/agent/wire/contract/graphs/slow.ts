import { setTimeout as wait } from 'node:timers/promises';
import { Annotation, END, interrupt, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ request: Annotation<string>(), answer: Annotation<string>() });

/** Asks a person, and works for a while after a yes. */
export const graph = new StateGraph(State)
  .addNode('ask', ({ request }) => ({
    answer: interrupt({ question: `May I ${request}?` }) as string,
  }))
  .addNode('work', async ({ answer }, { signal }) => {
    if (answer === 'yes') await wait(30_000, undefined, { ...(signal && { signal }) });
    return {};
  })
  .addEdge(START, 'ask')
  .addEdge('ask', 'work')
  .addEdge('work', END);
