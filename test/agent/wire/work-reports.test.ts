import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkReport } from '../../../src/schema/wire/work-report.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { startReceiver, type WebhookReceiver } from '../../kit/webhook-receiver.ts';

/* Pods that answer requests tell the platform how the queue stands, and those that execute runs how many they take. */

const KEY = `gxa_${'k'.repeat(43)}`;
const GRAPH = 'steps';

let gateway: WebhookReceiver;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let api: AgentProcess;
let folder: string;

const start = (slots: number): Promise<AgentProcess> =>
  startAgent({
    database: database.uri,
    env: {
      GX_REPORT_URL: `${gateway.url}/work`,
      GX_REPORT_KEY_FOLDER: folder,
      GX_REVISION: 'chat-00001',
      N_JOBS_PER_WORKER: String(slots),
    },
  });

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gx-key-'));
  await writeFile(path.join(folder, 'api-key'), `${KEY}\n`);
  [gateway, database] = await Promise.all([startReceiver(), freshDatabase()]);
  api = await start(0);
});

afterAll(async () => {
  await api.kill();
  await gateway.stop();
  await database.drop();
});

const told = (): WorkReport[] => gateway.received.map(({ body }) => body as unknown as WorkReport);
const queues = (): NonNullable<WorkReport['queue']>[] => told().flatMap(({ queue }) => queue ?? []);

test('a pod that answers requests reports with the key of the deployment as soon as it serves', async () => {
  const [first] = await until('a report', () => gateway.received.length > 0 && gateway.received);
  expect(first?.headers['x-api-key']).toBe(KEY);
  expect(first?.body).toMatchObject({
    slots: 0,
    queue: { due: 0, running: 0, webhooks: 0, next_due: null },
  });
});

test('facts of the server come with each report, of pods that answer and of pods that execute runs', async () => {
  const [first] = told();
  const version = expect.stringMatching(/^v\d+\.\d+/) as string;
  expect(first?.server).toEqual({ revision: 'chat-00001', version, guard: 'open' });
});

test('runs that wait for a worker are told at once: one of each thread, and the next delayed one', async () => {
  const thread = await api.client.threads.create();
  for (let at = 0; at < 3; at += 1)
    await api.client.runs.create(thread.thread_id, GRAPH, { input: {} });
  await api.client.runs.create(null, GRAPH, { input: {} });
  await api.client.runs.create(null, GRAPH, { input: {}, afterSeconds: 3600 });
  const last = await until('the backlog is told', () =>
    queues().find(({ due, next_due: next }) => due === 2 && next !== null),
  );
  expect(Date.parse(last.next_due!) - Date.now()).toBeGreaterThan(3_000_000);
});

test('a burst of runs costs few statements', async () => {
  const before = queues().length;
  await Promise.all(
    Array.from({ length: 40 }, () => api.client.runs.create(null, GRAPH, { input: {} })),
  );
  await until('the burst is told', () => queues().some(({ due }) => due === 42));
  // Each report is one statement: several changes within a second make one.
  expect(queues().length - before).toBeLessThan(20);
});

test('a pod that executes runs tells how many it takes, and that it leaves', async () => {
  const worker = await start(7);
  await until('the worker has told', () =>
    told().some(({ slots, queue }) => slots === 7 && queue === undefined),
  );
  await until(
    'all runs are over',
    () => queues().at(-1)?.due === 0 && queues().at(-1)?.running === 0,
  );
  await worker.kill();
  expect(told().some(({ slots, leaves }) => slots === 7 && leaves === true)).toBe(true);
  expect(told().find(({ slots }) => slots === 7)?.server).toEqual(told()[0]?.server);
});

test('threads that wait for somebody to answer are counted', async () => {
  expect(queues().at(-1)?.interrupted).toBe(0);
  const { thread_id } = await api.client.threads.create();
  await database.sql(`update gx.thread set status = 'interrupted' where thread_id = $1`, [
    thread_id,
  ]);
  await api.client.runs.create(null, GRAPH, { input: {}, afterSeconds: 3600 });
  await until('it is counted', () => queues().at(-1)?.interrupted === 1);
});

test('its last report tells of runs that nobody has taken', async () => {
  await api.client.runs.create(null, GRAPH, { input: {} });
  await api.kill();
  expect(told().filter(({ leaves, queue }) => leaves === true && queue?.due === 1)).toHaveLength(1);
  api = await start(0);
});

test('a gateway that is away holds nothing up', async () => {
  const other = await startAgent({
    database: database.uri,
    env: {
      GX_REPORT_URL: 'http://127.0.0.1:9',
      GX_REPORT_KEY_FOLDER: folder,
      N_JOBS_PER_WORKER: '0',
    },
  });
  await until('the failure is logged', () => other.output().includes('work could not be reported'));
  expect((await fetch(`${other.url}/ok`)).status).toBe(200);
  expect(await other.kill()).toBe(0);
});
