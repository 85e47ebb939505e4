import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startPostgres } from '../../src/agent/dev/embedded-postgres/start.ts';
import { buildSystemAssistantId } from '../../src/agent/kernel/ids.ts';
import { DevError } from '../../dev/errors.ts';
import { step } from '../../dev/steps.ts';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { startReceiver } from '../kit/webhook-receiver.ts';
import { fuzz } from './schemathesis.ts';
import { clientOf, ITEM, makeCron, makeUser, neighbours, type Ids } from './users.ts';

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
 * Fuzzes the agent server on a real Postgres with generated requests of every operation in its document, those of a
 * user's own routes among them, as one user who knows all ids of two others.
 */
export async function agent(cases: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'gx-fuzz-postgres-'));
  const postgres = await step('Postgres', () =>
    startPostgres({ folder, owner: 'a fuzz run', durable: false }),
  );
  const receiver = await startReceiver();
  let server: AgentProcess | undefined;
  try {
    const options = {
      database: postgres.uri,
      config: 'test/fuzz/graphs/gx.json',
      env: { GX_LOG_LEVEL: 'info' },
    };
    server = await step('agent server', () => startAgent(options));
    const { url, output } = server;
    // What leaves the server by itself counts like its log: webhooks that the fuzzing user asked for.
    const logged = (): string =>
      [output(), ...receiver.received.map(({ text }) => text)].join('\n');
    const others = await step('two other users', async () => [
      await makeUser(url, 'bea'),
      await makeUser(url, 'cyd'),
    ]);
    const theirs = others.flatMap(({ ids }) => ids);
    const known = {
      ...(await step('records to find', () => records(url, theirs))),
      webhook: [`${receiver.url}/fuzz`],
    };
    const target = {
      url,
      headers: { authorization: `Bearer ${TOKEN}` },
      cases,
      excludePaths: ENDLESS,
      known,
    };
    await step('fuzz the agent server', (report) =>
      fuzz({ ...target, neighbours: neighbours(url, others, logged) }, report),
    );
    if (receiver.received.length === 0)
      throw new DevError('No webhook was sent: nothing is proven of them.');
    process.stdout.write(`${receiver.received.length} webhooks were sent\n`);
  } finally {
    if (server !== undefined) process.stdout.write(server.output().slice(-LOG_SHOWN));
    await server?.kill();
    await receiver.stop();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes threads of the fuzzing user. Returns their ids with as many of its neighbours', by parameter name. */
async function records(url: string, theirs: Ids[]): Promise<Record<string, string[]>> {
  const client = clientOf(url, TOKEN);
  const own = async (index: number): Promise<Ids> => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, 'steps', {
      input: { left: 1, pause: 0 },
    });
    const cron_id = index % 10 === 0 ? await makeCron(client, 'steps', {}) : '';
    const assistant_id = buildSystemAssistantId(GRAPHS[index % GRAPHS.length] ?? '');
    // A checkpoint of a neighbour is asked for in a thread of its own, too.
    return {
      thread_id,
      run_id,
      assistant_id,
      cron_id,
      checkpoint_id: theirs[index % theirs.length]?.checkpoint_id ?? '',
    };
  };
  const made = await Promise.all(Array.from({ length: RECORDS }, (_, index) => own(index)));
  const rows = made.flatMap((row, index) => [row, theirs[index % theirs.length] as Ids]);
  const all = (name: keyof Ids): string[] => rows.map((row) => row[name]);
  return {
    thread_id: all('thread_id'),
    run_id: all('run_id'),
    checkpoint_id: all('checkpoint_id'),
    assistant_id: all('assistant_id'),
    cron_id: all('cron_id').filter(Boolean),
    graph_id: GRAPHS,
    namespace: [ITEM.namespace],
    namespace_prefix: [ITEM.namespace],
    key: [ITEM.key],
  };
}
