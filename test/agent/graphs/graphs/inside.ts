import { FakeListChatModel } from '@langchain/core/utils/testing';
import {
  Annotation,
  END,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';

const State = Annotation.Root({ path: Annotation<string>(), heard: Annotation<string[]>() });

const ask = (globalThis as unknown as Record<symbol, typeof fetch>)[
  Symbol.for('langgraph_api:fetch')
]!;

const post = async (path: string, body: string): Promise<string> =>
  (await ask(`http://localhost${path}`, { method: 'POST', body })).text();

const early = await post('/echo', 'while the graph loads');

/** Asks its server by the path of the input. */
export const graph = new StateGraph(State)
  .addNode('ask', async ({ path }) => ({ heard: [early, await post(path, 'while it runs')] }))
  .addEdge(START, 'ask')
  .addEdge('ask', END);

/** Keeps an item in the store. */
export const keeps = new StateGraph(State)
  .addNode('keep', async ({ path }, { store }: LangGraphRunnableConfig) => {
    await store!.put(['kept'], path, { text: path });
    return { heard: [path] };
  })
  .addEdge(START, 'keep')
  .addEdge('keep', END);

/** Asks a model. */
export const asks = new StateGraph(State)
  .addNode('ask', async ({ path }) => {
    const { content } = await new FakeListChatModel({ responses: ['yes'] }).invoke(path);
    return { heard: [String(content)] };
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END);
