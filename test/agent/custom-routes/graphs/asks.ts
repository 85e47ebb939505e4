import { Client } from '@langchain/langgraph-sdk';
import { Annotation, END, START, StateGraph } from '@langchain/langgraph';

const State = Annotation.Root({ asked: Annotation<unknown>() });

const client = new Client();

/** Asks its own server: records, the stream of another run, and something that is refused. */
export const graph = new StateGraph(State)
  .addNode('ask', async () => {
    const { thread_id } = await client.threads.create({ metadata: { by: 'the graph' } });
    const seen: unknown[] = [];
    for await (const { event, data } of client.runs.stream(thread_id, 'steps', {
      input: { left: 3 },
      streamMode: 'custom',
    }))
      if (event === 'custom') seen.push(data);
    const refused = await client.threads.get('no-id').catch((error: Error) => error.message);
    return { asked: { thread_id, seen, refused } };
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END);
