import path from 'node:path';
import { startDatabases } from '../bench/agent/databases.ts';
import { memorySettings } from '../kit/image-environment.ts';
import { attempt, openStreams, sendHalf, sendSlowly } from './attacks.ts';
import { attackBodies } from './bodies.ts';
import { attackMetrics } from './metrics.ts';
import { besideNeighbour } from './neighbour.ts';
import type { Verdicts } from './report.ts';
import { settled } from './settled.ts';
import { tell } from './tell.ts';
import { startWatched, type WatchedServer } from './watched-server.ts';

const MEBIBYTE = 1024 * 1024;
const CONTENT = 20 * MEBIBYTE;
const GRAPHS = path.resolve(import.meta.dirname, '../agent/wire/graphs/gx.json');
const NOTHING = '00000000-0000-4000-8000-000000000000';

/** A value for each field that a body must have. */
const NEEDED: Record<string, unknown> = {
  assistant_id: 'steps',
  graph_id: 'steps',
  thread_ids: [NOTHING],
  checkpoint: {},
  version: 1,
  namespace: ['a'],
  key: 'k',
  value: {},
  channels: ['values'],
  id: 1,
  method: 'agent.getTree',
  name: 'weather',
  to: 1,
  schedule: '0 0 1 1 *',
  user_id: 'nobody',
};

/** Ends of the paths whose answers wait for a run, or follow one. */
const STAYS = ['/stream/events', '/wait', '/runs/stream'];

/** Operations whose bodies bring content; the others select. */
const BRINGS = /^(create|wait|stream_run|stream_stateless|update|patch|put|command)/;

async function attack(server: WatchedServer, verdicts: Verdicts): Promise<void> {
  const name = 'agent server';
  const post = async (to: string): Promise<{ thread_id: string }> => {
    const headers = { 'content-type': 'application/json' };
    return (await (
      await fetch(server.url + to, { method: 'POST', headers, body: '{}' })
    ).json()) as never;
  };
  const { thread_id } = await post('/threads');
  const url = `${server.url}/threads/${(await post('/threads')).thread_id}`;
  const beside = (what: string, work: () => Promise<void>): Promise<void> => {
    tell(`${name}: ${what}`);
    return besideNeighbour(verdicts, { name: `${name}, ${what}`, url }, work);
  };
  const limitOf = (operation: string): number => (BRINGS.test(operation) ? CONTENT : MEBIBYTE);
  // No run begins here, so who waits for one would wait for ever.
  const stays = (template: string): boolean => STAYS.some((end) => template.endsWith(end));
  const needed = (field: string): unknown => NEEDED[field];
  const attacked = {
    server,
    headers: {},
    known: { thread_id },
    needed,
    limitOf,
    skips: () => false,
    stays,
  };
  for (let count = 0; count < 200; count += 1)
    await attempt(url, { method: 'GET', headers: {}, body: '' });
  const before = server.memory();
  // What the machine itself does to the other tenant's figure.
  await beside('no attack', () => Promise.resolve());
  await beside('the worst bodies', () => attackBodies(attacked, verdicts));
  verdicts.sumUp(`${name}, the worst bodies`);
  const slow = { url: server.url, path: `/threads/${thread_id}/runs`, headers: {}, bytes: CONTENT };
  await beside('200 slow senders', () => sendSlowly(slow, { connections: 200, seconds: 10 }));
  await beside('20 aborted bodies', () => sendHalf(slow, { times: 20 }));
  await beside('200 streams', async () => {
    const streams = await openStreams(
      Array.from({ length: 200 }, () => `${server.url}/threads/${thread_id}/stream`),
      {},
    );
    verdicts.check(
      `${name}: streams`,
      `${streams.statuses.filter((status) => status === 200).length} of 200 open`,
      true,
    );
    await new Promise((resolve) => setTimeout(resolve, 5000));
    streams.close();
  });
  await settled(verdicts, { name, server, before });
}

/** Attacks an agent server that answers requests, as an api pod does, on a real Postgres. */
export async function attackAgent(verdicts: Verdicts): Promise<void> {
  const databases = await startDatabases();
  try {
    const env = {
      DATABASE_URI: await databases.fresh(),
      GX_CONFIG: GRAPHS,
      N_JOBS_PER_WORKER: '0',
      GX_METRICS_PORT: '0',
      ...memorySettings('gx-agent-server'),
    };
    const server = await startWatched(['agent-server'], env, { ready: '/ok' });
    await attackMetrics(server, verdicts);
    await attack(server, verdicts);
    await server.stop();
  } finally {
    await databases.stop();
  }
}
