import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { Client, Pool } from 'pg';
import { PgBoss } from 'pg-boss';
import { input } from './api.ts';
import type { Databases } from './databases.ts';
import { echo } from './graphs/define.ts';
import * as langgraph from '@langchain/langgraph';
import { median, oneByOne, together } from './load.ts';

export type Floor = { what: string; figure: string };

const ms = (value: number): string => `${value.toFixed(2)} ms`;
const perSecond = (count: number, milliseconds: number): string => `${Math.round((count / milliseconds) * 1000)} per s`;

/** What the parts cost without a server around them, on this machine at this time. */
export async function measureFloors(databases: Databases): Promise<Floor[]> {
  const uri = await databases.fresh();
  return [...(await databaseFloors(uri)), ...(await graphFloors(uri)), ...(await queueFloors(uri))];
}

async function databaseFloors(uri: string): Promise<Floor[]> {
  const client = new Client({ connectionString: uri });
  await client.connect();
  await client.query('create table floor (id bigserial primary key, body text)');
  const select = await oneByOne(500, () => client.query({ name: 'one', text: 'select 1' }));
  const insert = await oneByOne(500, () => client.query({ name: 'put', text: 'insert into floor (body) values ($1)', values: ['x'] }));
  await client.end();
  return [
    { what: 'Postgres: prepared select, 1 connection, p50', figure: ms(median(select)) },
    { what: 'Postgres: prepared insert and commit, 1 connection, p50', figure: ms(median(insert)) },
  ];
}

type Invokable = { invoke(input: unknown, config: object): Promise<unknown>; checkpointer?: unknown };

async function graphFloors(uri: string): Promise<Floor[]> {
  const graph = echo(langgraph) as Invokable;
  const bare = await oneByOne(200, () => graph.invoke(input, {}));
  const pool = new Pool({ connectionString: uri, max: 10 });
  const saver = new PostgresSaver(pool);
  await saver.setup();
  graph.checkpointer = saver;
  const run = (index: number): Promise<unknown> => graph.invoke(input, { configurable: { thread_id: `t${index}` } });
  const saved = await oneByOne(100, run);
  const many = await together(10, 500, (index) => run(1000 + index));
  await pool.end();
  graph.checkpointer = new langgraph.MemorySaver();
  const grown = await oneByOne(200, () => run(0));
  const growth = median(grown.slice(-20)) / median(grown.slice(0, 20));
  return [
    { what: '200 runs on one thread of 400 messages, saver in memory, no server: last tenth to first', figure: `${growth.toFixed(1)}x` },
    { what: 'graph without server or saver, p50', figure: ms(median(bare)) },
    { what: 'graph with the official Postgres saver, no server, p50', figure: ms(median(saved)) },
    { what: 'the same, 10 at once', figure: perSecond(500, many) },
  ];
}

async function queueFloors(uri: string): Promise<Floor[]> {
  const boss = new PgBoss({ connectionString: uri, schedule: false, supervise: false });
  await boss.start();
  await boss.createQueue('floor');
  const send = await together(10, 1000, () => boss.send('floor', { run: 'x' }));
  const through = performance.now();
  for (let left = 1000; left > 0; left -= 10) {
    const jobs = await boss.fetch('floor', { batchSize: 10 });
    await boss.complete(
      'floor',
      jobs.map(({ id }) => id),
    );
  }
  const taken = performance.now() - through;
  await boss.stop({ graceful: false });
  return [
    { what: 'pg-boss alone: send, 10 at once', figure: perSecond(1000, send) },
    { what: 'pg-boss alone: fetch and complete by tens', figure: perSecond(1000, taken) },
  ];
}
