import { Client } from 'pg';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { call } from './http.ts';
import { median, oneByOne } from './load.ts';

/** `goal` marks the searches by which the goal is judged. The others are printed beside them. */
type Search = { what: string; path: 'search' | 'count'; body: object; goal: boolean };

const search = (what: string, body: object, goal = true): Search => ({
  what,
  path: 'search',
  body: { limit: 10, ...body },
  goal,
});
const count = (what: string, body: object): Search => ({
  what: `count: ${what}`,
  path: 'count',
  body,
  goal: false,
});

/**
 * Of the threads that `fill` writes, each owner has a hundredth and each topic a thousandth. A twentieth is
 * interrupted, and a fiftieth has failed.
 */
const SEARCHES: Search[] = [
  search('newest first', {}),
  search('newest first, 100 of them', { limit: 100 }),
  search("one owner's (metadata)", { metadata: { owner: 'owner-7' } }),
  search("one owner's, by creation", { metadata: { owner: 'owner-7' }, sort_by: 'created_at' }),
  search('one thread by its number (metadata)', { metadata: { index: 4711 } }),
  search('of one graph, which is all of them', { metadata: { graph_id: 'echo' } }),
  search('one topic (a field of the state)', { values: { topic: 'topic-7' } }),
  search('one topic of one owner', {
    values: { topic: 'topic-7' },
    metadata: { owner: 'owner-7' },
  }),
  search('idle', { status: 'idle' }),
  search('busy', { status: 'busy' }),
  search('interrupted', { status: 'interrupted' }),
  search('failed', { status: 'error' }),
  search('by creation', { sort_by: 'created_at', sort_order: 'asc' }),
  search('by change of state', { sort_by: 'state_updated_at' }),
  search('by status', { sort_by: 'status' }),
  search('the hundredth page', { offset: 990 }, false),
  search('a message in the state', { values: { messages: [{ content: 'question 7' }] } }, false),
  count('all', {}),
  count("one owner's", { metadata: { owner: 'owner-7' } }),
  count('failed', { status: 'error' }),
  count('one topic', { values: { topic: 'topic-7' } }),
];

const STATE = `jsonb_build_object('topic', 'topic-' || i % 1000, 'messages', jsonb_build_array(
  jsonb_build_object('type', 'human', 'content', 'question ' || i % 500), jsonb_build_object('type', 'ai', 'content', 'answer ' || i)))`;

/** Writes threads with a state and a finished run by SQL. Through the API a million would take an hour. */
async function fill(database: string, threads: number): Promise<void> {
  const client = new Client({ connectionString: database });
  await client.connect();
  await client.query(
    `insert into gx.thread (thread_id, metadata, status, "values", created_at, updated_at, state_updated_at)
      select gen_random_uuid(), jsonb_build_object('owner', 'owner-' || i % 100, 'index', i, 'graph_id', 'echo'),
        case when i % 50 = 0 then 'error' when i % 20 = 0 then 'interrupted' else 'idle' end, ${STATE}, now() - i * interval '1 second', at, at
      from (select i, now() - (i::bigint * 7919 % ${threads}) * interval '1 second' as at from generate_series(1, ${threads}) i) made`,
  );
  await client.query(
    `insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, kwargs, multitask_strategy, created_at)
      select gen_random_uuid(), thread_id, gen_random_uuid(), 'nowhere', case when metadata->'index' <= '100' then 'pending' else 'success' end,
        '{}', 'enqueue', created_at from gx.thread`,
  );
  await client.query('vacuum analyze gx.thread');
  await client.query('vacuum analyze gx.run');
  await client.end();
}

const REPEATS = 30;
/** A search that takes more milliseconds than this is not repeated. */
const ENOUGH = 1000;

export type Searched = { what: string; p50: number; goal: boolean };

/** Measures the milliseconds of each kind of search with one client, among so many threads. */
export async function measureSearches(
  checkout: Checkout,
  databases: Databases,
  threads: number,
): Promise<Searched[]> {
  const database = await databases.fresh();
  const server = await checkout.start({ database });
  await fill(database, threads);
  const figures: Searched[] = [];
  for (const { what, path, body, goal } of SEARCHES) {
    const ask = (): Promise<unknown> => call(`${server.url}/threads/${path}`, body);
    const [first = 0] = await oneByOne(1, ask);
    figures.push({
      what,
      goal,
      p50: first > ENOUGH ? first : median(await oneByOne(REPEATS, ask)),
    });
  }
  await server.stop();
  return figures;
}
