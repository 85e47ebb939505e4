import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startPostgres } from '../../src/agent/dev/embedded-postgres/start.ts';
import { systemAssistantId } from '../../src/agent/ids.ts';
import { step } from '../../dev/steps.ts';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { fuzz } from './schemathesis.ts';
import { clientOf, ITEM, makeUser, neighbours, type Ids } from './users.ts';

/**
 * How many threads with a finished run there are, so that requests find something. They are more than the requests
 * delete.
 */
const RECORDS = 300;

/** Answers without an end: the stream of a thread stays open for future runs. */
const ENDLESS = ['/threads/{thread_id}/stream'];

const GRAPHS = ['chat', 'steps', 'approval', 'who'];

/** Characters of the log that are shown at the end. */
const LOG_SHOWN = 20_000;

/** The token of the fuzzing user, which is its name. */
const TOKEN = 'fuzz';

/**
 * Fuzzes the agent server on a real Postgres with generated requests of every operation in its document, as one user
 * who knows all ids of two others.
 */
export async function agent(cases: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'gx-fuzz-postgres-'));
  const postgres = await step('Postgres', () => startPostgres({ folder, owner: 'a fuzz run', durable: false }));
  let server: AgentProcess | undefined;
  try {
    const options = { database: postgres.uri, config: 'test/fuzz/graphs/gx.json', env: { GX_LOG_LEVEL: 'info' } };
    server = await step('agent server', () => startAgent(options));
    const { url, output: logged } = server;
    const others = await step('two other users', async () => [await makeUser(url, 'bea'), await makeUser(url, 'cyd')]);
    const theirs = others.flatMap(({ ids }) => ids);
    const known = await step('records to find', () => records(url, theirs));
    const target = { url, headers: { authorization: `Bearer ${TOKEN}` }, cases, excludePaths: ENDLESS, known };
    await step('fuzz the agent server', (report) => fuzz({ ...target, neighbours: neighbours(url, others, logged) }, report));
  } finally {
    if (server !== undefined) process.stdout.write(server.output().slice(-LOG_SHOWN));
    await server?.kill();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes threads of the fuzzing user. Returns their ids with as many of its neighbours', by parameter name. */
async function records(url: string, theirs: Ids[]): Promise<Record<string, string[]>> {
  const client = clientOf(url, TOKEN);
  const own = async (index: number): Promise<Ids> => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, 'steps', { input: { left: 1, pause: 0 } });
    const assistant_id = systemAssistantId(GRAPHS[index % GRAPHS.length] ?? '');
    // A checkpoint of a neighbour is asked for in a thread of its own, too.
    return { thread_id, run_id, assistant_id, checkpoint_id: theirs[index % theirs.length]?.checkpoint_id ?? '' };
  };
  const made = await Promise.all(Array.from({ length: RECORDS }, (_, index) => own(index)));
  const rows = made.flatMap((row, index) => [row, theirs[index % theirs.length] as Ids]);
  const all = (name: keyof Ids): string[] => rows.map((row) => row[name]);
  return {
    thread_id: all('thread_id'),
    run_id: all('run_id'),
    checkpoint_id: all('checkpoint_id'),
    assistant_id: all('assistant_id'),
    graph_id: GRAPHS,
    namespace: [ITEM.namespace],
    namespace_prefix: [ITEM.namespace],
    key: [ITEM.key],
  };
}
