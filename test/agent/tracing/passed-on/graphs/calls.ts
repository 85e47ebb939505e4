import { once } from 'node:events';
import { request } from 'node:http';
import { tool } from '@langchain/core/tools';
import { Annotation, START, StateGraph } from '@langchain/langgraph';
import { Client } from '@langchain/langgraph-sdk';
import { z } from 'zod';

/* Graphs that ask other services, at `url`, and their own server. Each request has a path of its own. */

const State = Annotation.Root({ url: Annotation<string>() });

const post = (address: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(address, { method: 'POST', body: '{}', headers });

const look = tool(async ({ url }) => (await post(`${url}/tool`)).status, {
  name: 'look',
  description: 'Looks something up.',
  schema: z.object({ url: z.string() }),
});

export const leaf = new StateGraph(State)
  .addNode('asks', async ({ url }) => {
    await post(`${url}/leaf`);
    return {};
  })
  .addEdge(START, 'asks')
  .compile();

export const calls = new StateGraph(State)
  .addNode('asks', async ({ url }, config) => {
    await post(`${url}/node`);
    await post(`${url}/own`, {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    });
    await look.invoke({ url }, config);
    const other = request(`${url}/other`, { method: 'POST' }).end('{}');
    await once(other, 'response');
    return {};
  })
  .addNode('delegates', async ({ url }) => {
    await new Client().runs.wait(null, 'leaf', { input: { url } });
    return {};
  })
  .addEdge(START, 'asks')
  .addEdge('asks', 'delegates')
  .compile();
