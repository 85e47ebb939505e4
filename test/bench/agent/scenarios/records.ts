import { createThread, wait } from '../api.ts';
import { call } from '../http.ts';
import { median, oneByOne, together } from '../load.ts';
import type { BenchServer } from '../servers.ts';
import type { Scenario } from './scenario.ts';

const OWNERS = 100;
const REPEATS = 100;

const state: Scenario = {
  id: 'state',
  what: 'state of a thread with 200 checkpoints, 1 client: p50',
  unit: 'ms',
  sizes: { gx: 200, js: 200, aegra: 200 },
  limit: { atMost: 4 },
  measure: async (server, size) => {
    const thread = await createThread(server);
    await wait(server, thread);
    const values = { messages: [{ role: 'user', content: 'a word added by hand' }] };
    for (let index = 0; index < size; index += 1)
      await call(`${server.url}/threads/${thread}/state`, { values, as_node: 'answer' });
    return median(await oneByOne(REPEATS, () => call(`${server.url}/threads/${thread}/state`)));
  },
};

/** Each owner has a hundredth of all threads. */
async function searchByOwner({ url }: BenchServer): Promise<number> {
  const one = (index: number): Promise<unknown[]> =>
    call<unknown[]>(`${url}/threads/search`, {
      metadata: { owner: `owner-${index % OWNERS}` },
      limit: 10,
    });
  return median(await oneByOne(REPEATS, one));
}

/** Threads are made once. Later rounds only search. */
const filled = new WeakSet<BenchServer>();

const search: Scenario = {
  id: 'search',
  what: 'search by metadata in 10,000 threads, 1 client: p50',
  unit: 'ms',
  sizes: { gx: 10_000, js: 10_000 },
  limit: { atMost: 5 },
  measure: async (server, size) => {
    if (!filled.has(server))
      await together(10, size, (index) =>
        createThread(server, { owner: `owner-${index % OWNERS}`, index }),
      );
    filled.add(server);
    return searchByOwner(server);
  },
};

export const recordScenarios = [state, search];
