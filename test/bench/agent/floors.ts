import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { Pool } from 'pg';
import { input } from './api.ts';
import type { Databases } from './databases.ts';
import { echo } from './graphs/define.ts';
import * as langgraph from '@langchain/langgraph';
import { median, oneByOne, together } from './load.ts';

export type Floor = { what: string; figure: string };

const ms = (value: number): string => `${value.toFixed(2)} ms`;
const perSecond = (count: number, milliseconds: number): string =>
  `${Math.round((count / milliseconds) * 1000)} per s`;

type Invokable = {
  invoke(input: unknown, config: object): Promise<unknown>;
  checkpointer?: unknown;
};

/** Measures what a graph costs without a server around it, on this machine at this time. */
export async function measureFloors(databases: Databases): Promise<Floor[]> {
  const uri = await databases.fresh();
  const graph = echo(langgraph) as Invokable;
  const bare = await oneByOne(200, () => graph.invoke(input, {}));
  const pool = new Pool({ connectionString: uri, max: 10 });
  const saver = new PostgresSaver(pool);
  await saver.setup();
  graph.checkpointer = saver;
  const run = (index: number): Promise<unknown> =>
    graph.invoke(input, { configurable: { thread_id: `t${index}` } });
  const saved = await oneByOne(100, run);
  const many = await together(10, 500, (index) => run(1000 + index));
  await pool.end();
  graph.checkpointer = new langgraph.MemorySaver();
  const grown = await oneByOne(200, () => run(0));
  const growth = median(grown.slice(-20)) / median(grown.slice(0, 20));
  return [
    {
      what: '200 runs on one thread of 400 messages, saver in memory, no server: last tenth to first',
      figure: `${growth.toFixed(1)}x`,
    },
    { what: 'graph without server or saver, p50', figure: ms(median(bare)) },
    { what: 'graph with the official Postgres saver, no server, p50', figure: ms(median(saved)) },
    { what: 'the same, 10 at once', figure: perSecond(500, many) },
  ];
}
