import { randomBytes } from 'node:crypto';
import { Client } from '@langchain/langgraph-sdk';
import type { Neighbours } from './isolation.ts';

/*
 * Users of one agent server whose handlers of `auth.path` give each what it makes. Each writes a word of its own, its
 * canary, into all that it makes.
 */

/** Ids that belong together, by parameter name. */
export type Ids = Record<
  'thread_id' | 'run_id' | 'checkpoint_id' | 'assistant_id' | 'cron_id',
  string
>;
export type User = { token: string; canary: string; ids: Ids[] };

/** The one item in the store of each user. All have it in the same place. */
export const ITEM = { namespace: 'notes', key: 'one' };

/** A delayed run has not begun when everything else is over. */
const A_DAY = 86_400;

export const clientOf = (url: string, token: string): Client =>
  new Client({
    apiUrl: url,
    apiKey: null,
    defaultHeaders: { authorization: `Bearer ${token}` },
    callerOptions: { maxRetries: 0 },
  });

/** A cron that is due on New Year's Day, when a fuzzing is over. */
const SCHEDULE = '0 0 1 1 *';

/** Makes a cron. Returns its id. */
export async function makeCron(
  client: Client,
  assistant: string,
  payload: { input?: Record<string, unknown>; metadata?: Record<string, unknown> },
) {
  return (
    (await client.crons.create(assistant, { schedule: SCHEDULE, ...payload })) as unknown as {
      cron_id: string;
    }
  ).cron_id;
}

/**
 * Makes all that a user can have: an assistant with two versions, an item of the store, a cron, and three threads, one
 * with a run that has ended, one that waits for a person, and one whose run is yet to begin.
 */
export async function makeUser(url: string, token: string): Promise<User> {
  const client = clientOf(url, token);
  const canary = `cn${randomBytes(6).toString('hex')}`;
  const metadata = { note: canary };
  const { assistant_id } = await client.assistants.create({
    graphId: 'who',
    name: canary,
    metadata,
    context: { note: canary },
  });
  await client.assistants.update(assistant_id, { description: canary });
  await client.store.putItem([ITEM.namespace], ITEM.key, { text: canary });
  const cron_id = await makeCron(client, assistant_id, { input: { said: canary }, metadata });
  const thread = async (
    graph: string,
    input: Record<string, unknown>,
    delay?: number,
  ): Promise<Ids> => {
    const { thread_id } = await client.threads.create({ metadata });
    const { run_id } = await client.runs.create(thread_id, graph, {
      input,
      metadata,
      ...(delay !== undefined && { afterSeconds: delay }),
    });
    if (delay === undefined) await client.runs.join(thread_id, run_id);
    const { checkpoint } = await client.threads.getState(thread_id);
    const { checkpoint_id = crypto.randomUUID() } = (checkpoint ?? {}) as Partial<Ids>;
    return { thread_id, run_id, checkpoint_id, assistant_id, cron_id };
  };
  const ids = [
    await thread(assistant_id, { said: canary }),
    await thread('approval', { request: canary }),
    await thread('who', { said: canary }, A_DAY),
  ];
  return { token, canary, ids };
}

/** Reads all that a user has, as the user. */
async function recordsOf(url: string, { token }: User): Promise<Record<string, unknown>> {
  const client = clientOf(url, token);
  const [threads, assistants, crons, { items }, { namespaces }] = await Promise.all([
    client.threads.search({ limit: 1000, sortBy: 'thread_id' }),
    client.assistants.search({ limit: 1000, sortBy: 'assistant_id' }),
    client.crons.search({ limit: 1000 }),
    client.store.searchItems([], { limit: 1000 }),
    client.store.listNamespaces({ prefix: [] }),
  ]);
  const rows: [string, unknown][] = [
    ['The items of the store', [items, namespaces]],
    ['The crons', crons],
  ];
  for (const thread of threads) {
    const { thread_id: id } = thread;
    const parts = await Promise.all([
      client.threads.getState(id),
      client.threads.getHistory(id),
      client.runs.list(id),
    ]);
    rows.push([`Thread ${id}`, [thread, ...parts]]);
  }
  for (const assistant of assistants)
    rows.push([
      `Assistant ${assistant.assistant_id}`,
      [assistant, await client.assistants.getVersions(assistant.assistant_id)],
    ]);
  return Object.fromEntries(rows.map(([name, what]) => [`${name} of ${token}`, what]));
}

/** What users have besides the fuzzing one. */
export function neighbours(url: string, users: User[], logged: () => string): Neighbours {
  const read = async (address: string): Promise<Record<string, string>> => {
    const all = await Promise.all(users.map((user) => recordsOf(address, user)));
    return Object.fromEntries(
      all.flatMap(Object.entries).map(([name, what]) => [name, JSON.stringify(what)]),
    );
  };
  return {
    canaries: users.map(({ canary }) => canary),
    ids: users.flatMap(({ ids }) => ids.flatMap((of) => Object.values(of))),
    look: read,
    records: () => read(url),
    logged,
  };
}
