import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RolloutPlan } from '../../../src/schema/wire/rollout-plan.ts';
import type { PinnedWork, WorkReport } from '../../../src/schema/wire/work-report.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { startReceiver, type WebhookReceiver } from '../../kit/webhook-receiver.ts';

/*
 * Pods of two revisions on one database: blue serves until green takes its place. The rows of runs say which revision
 * each is pinned to, and which process has executed it.
 */

const [BLUE, GREEN] = ['chat-00001', 'chat-00002'];

let database: TestDatabase;
let gateway: WebhookReceiver;
let folder: string;
let plan: RolloutPlan | undefined;
let blue: AgentProcess;
let green: AgentProcess;
/** A pod of green that only answers requests. */
let front: AgentProcess;
const started: AgentProcess[] = [];

async function start(
  revision: string,
  { slots = 5, pin = 'Run', more = {} } = {},
): Promise<AgentProcess> {
  const env = {
    GX_REVISION: revision,
    GX_PIN: pin,
    N_JOBS_PER_WORKER: String(slots),
    GX_JOB_LEASE_SECS: '2',
    ...more,
  };
  const agent = await startAgent({ database: database.uri, env });
  started.push(agent);
  return agent;
}

const planned = (current: string, ...living: string[]): void => {
  plan = {
    made_at: new Date().toISOString(),
    current,
    living,
    draining: living.filter((name) => name === BLUE && name !== current),
  };
};

/** Returns the name under which a process holds its runs. */
const workerOf = ({ output }: AgentProcess): string => /"worker":"([\w-]+)"/.exec(output())![1]!;

type Row = { run_id: string; revision: string | null; worker: string | null; status: string };
const rowsOf = (threads: string[]): Promise<Row[]> =>
  database.sql<Row>(
    'select run_id, revision, worker, status from gx.run where thread_id = any($1) order by created_at, run_id',
    [threads],
  );
const placesOf = async (...threads: string[]): Promise<(string | null)[][]> =>
  (await rowsOf(threads)).map(({ revision, worker }) => [revision, worker]);

const newThread = async (): Promise<string> => (await front.client.threads.create()).thread_id;
async function ended(
  agent: AgentProcess,
  thread: string,
  graph: string,
  body: object,
): Promise<void> {
  await agent.client.runs.wait(thread, graph, { ...body, raiseError: false });
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gx-key-'));
  await writeFile(path.join(folder, 'api-key'), `gxa_${'k'.repeat(43)}\n`);
  database = await freshDatabase();
  gateway = await startReceiver({
    '/work': (response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ gateway_keys: [], ...(plan && { rollout: plan }) }));
    },
  });
  const reports = { GX_REPORT_URL: `${gateway.url}/work`, GX_REPORT_KEY_FOLDER: folder };
  [blue, green, front] = await Promise.all([
    start(BLUE),
    start(GREEN),
    start(GREEN, { slots: 0, more: reports }),
  ]);
});

afterAll(async () => {
  await Promise.all(started.map((agent) => agent.kill()));
  await gateway.stop();
  await database.drop();
});

test('runs are executed by pods of the revision that made them, whether they start at once or wait for a worker', async () => {
  const threads = await Promise.all(Array.from({ length: 24 }, newThread));
  const makers = [blue, green, front];
  await Promise.all(
    threads.map((thread, at) => ended(makers[at % 3]!, thread, 'steps', { input: { left: 2 } })),
  );
  for (const [at, thread] of threads.entries())
    expect(await placesOf(thread)).toEqual([
      at % 3 === 0 ? [BLUE, workerOf(blue)] : [GREEN, workerOf(green)],
    ]);
});

test('an answer goes to the revision of its question, through pods of any, and new input does not', async () => {
  const threads = await Promise.all([newThread(), newThread()]);
  for (const [at, thread] of threads.entries()) {
    const maker = at === 0 ? green : front;
    await ended(blue, thread, 'approval', { input: { request: 'go' } });
    await ended(maker, thread, 'approval', { command: { resume: 'yes' } });
    expect((await maker.client.threads.getState(thread)).values).toEqual({
      request: 'go',
      answer: 'yes',
    });
    await ended(maker, thread, 'approval', { input: { request: 'stay' } });
    const [asks, later] = [
      [BLUE, workerOf(blue)],
      [GREEN, workerOf(green)],
    ];
    expect(await placesOf(thread)).toEqual([asks, asks, later]);
  }
});

test('a run without input goes on with the one under way, on its revision; a thread that rests begins anew', async () => {
  const thread = await newThread();
  const first = blue.client.runs.wait(thread, 'steps', { input: { left: 2, pause: 300 } });
  await until('it runs', async () => (await rowsOf([thread]))[0]?.status === 'running');
  const behind = ended(front, thread, 'steps', {});
  await Promise.all([first, behind]);
  await ended(front, thread, 'steps', {});
  expect((await rowsOf([thread])).map(({ revision }) => revision)).toEqual([BLUE, BLUE, GREEN]);
});

test('runs of one thread wait for each other across revisions, and go on at once', async () => {
  const thread = await newThread();
  const [first, second] = [
    await blue.client.runs.create(thread, 'steps', { input: { left: 2, pause: 200 } }),
    await front.client.runs.create(thread, 'steps', { input: { left: 1 } }),
  ];
  await until('both are over', async () =>
    (await rowsOf([thread])).every(({ status }) => status === 'success'),
  );
  expect(await placesOf(thread)).toEqual([
    [BLUE, workerOf(blue)],
    [GREEN, workerOf(green)],
  ]);
  const [gap] = await database.sql<{ seconds: number }>(
    `select extract(epoch from (select started_at from gx.run where run_id = $2) - (select ended_at from gx.run where run_id = $1))::float as seconds`,
    [first.run_id, second.run_id],
  );
  expect(gap!.seconds).toBeGreaterThanOrEqual(0);
  expect(gap!.seconds).toBeLessThan(1);
});

test('a run whose worker dies goes on at another pod of its revision', async () => {
  const dying = await start(BLUE);
  // A run whose maker has no time for it at once may be executed by the other pod of its revision.
  const thread = await until('the process that dies has a run', async () => {
    const made = await newThread();
    await dying.client.runs.create(made, 'steps', { input: { left: 4, pause: 500 } });
    const worker = await until(
      'it is executed',
      async () => (await rowsOf([made]))[0]?.worker ?? undefined,
    );
    return worker === workerOf(dying) && made;
  });
  await dying.kill('SIGKILL');
  await until('it is over', async () => (await rowsOf([thread]))[0]?.status === 'success');
  expect(await placesOf(thread)).toEqual([[BLUE, workerOf(blue)]]);
});

const pinned = (): PinnedWork[][] =>
  gateway.received
    .flatMap(({ body }) => (body as unknown as WorkReport).queue?.pinned ?? [])
    .map((work) => [work].flat());
const lastPinned = (): PinnedWork | undefined =>
  pinned()
    .at(-1)
    ?.find(({ revision }) => revision === BLUE);

test('work of a living revision waits for its pods, and is counted; that of one that is gone goes to the one that serves', async () => {
  const [asking, waiting] = [await newThread(), await newThread()];
  await ended(blue, asking, 'approval', { input: { request: 'go' } });
  await ended(blue, waiting, 'approval', { input: { request: 'rest' } });
  planned(GREEN, BLUE, GREEN);
  // A report is made for each run; the next one counts what the plan has made known.
  const counted = async (what: string, is: (work: PinnedWork) => boolean): Promise<void> => {
    await until(what, async () => {
      await ended(front, await newThread(), 'steps', { input: { left: 0 } });
      const work = lastPinned();
      return work !== undefined && is(work);
    });
  };
  await counted(
    'both questions are counted',
    (work) => work.waiting === 2 && work.due === 0 && work.running === 0,
  );
  await blue.kill();
  const answer = await front.client.runs.create(asking, 'approval', { command: { resume: 'yes' } });
  await counted('the answer is due', (work) => work.due === 1);
  const [, row] = await rowsOf([asking]);
  expect(row).toMatchObject({
    run_id: answer.run_id,
    revision: BLUE,
    status: 'pending',
    worker: null,
  });
  planned(GREEN, GREEN);
  await until('the plan is kept', async () => {
    await ended(front, await newThread(), 'steps', { input: { left: 0 } });
    const [kept] = await database.sql<{ living: string[] }>('select living from gx.rollout');
    return kept?.living.length === 1;
  });
  await front.client.runs.join(asking, answer.run_id);
  await ended(front, waiting, 'approval', { command: { resume: 'later' } });
  const taken = [GREEN, workerOf(green)];
  expect((await placesOf(asking)).at(-1)).toEqual(taken);
  expect((await placesOf(waiting)).at(-1)).toEqual(taken);
});

test('an older plan does not replace a newer one', async () => {
  plan = { made_at: '2020-01-01T00:00:00Z', current: BLUE, living: [BLUE], draining: [] };
  const before = gateway.received.length;
  await until('it was sent', async () => {
    await ended(front, await newThread(), 'steps', { input: { left: 0 } });
    return gateway.received.length > before + 1;
  });
  expect(await database.sql('select current, living from gx.rollout')).toEqual([
    { current: GREEN, living: [GREEN] },
  ]);
});

test('a thread that is kept for its life stays on its revision with new input, too', async () => {
  const [third, fourth] = await Promise.all([
    start('chat-00003', { pin: 'Thread' }),
    start('chat-00004', { pin: 'Thread' }),
  ]);
  const thread = await newThread();
  await ended(third, thread, 'steps', { input: { left: 1 } });
  await ended(fourth, thread, 'steps', { input: { left: 1 } });
  const place = ['chat-00003', workerOf(third)];
  expect(await placesOf(thread)).toEqual([place, place]);
  // The plan does not know them yet, and they are newer than the one that serves.
  const [kept] = await database.sql<{ living: string[] }>('select living from gx.rollout');
  expect(kept?.living.toSorted()).toEqual([GREEN, 'chat-00003', 'chat-00004']);
});

test('crons fire at the revision that serves, and not at one that was replaced', async () => {
  await database.sql(`update gx.rollout set draining = '{chat-00003}'`);
  const { cron_id } = await front.client.crons.create('steps', {
    schedule: '* * * * * *',
    input: { left: 0 },
    onRunCompleted: 'keep',
  });
  const made = await until('it has fired some times', async () => {
    const rows = await database.sql<Row>(
      `select revision, worker, status from gx.run where metadata->>'cron_id' = $1`,
      [cron_id],
    );
    return rows.length >= 4 && rows;
  });
  await front.client.crons.delete(cron_id);
  expect(made.map(({ revision }) => revision)).not.toContain('chat-00003');
});

test('runs that are pinned to no revision are executed by any', async () => {
  const free = await start('chat-00003', { pin: 'None', slots: 0 });
  const threads = await Promise.all(Array.from({ length: 6 }, newThread));
  await Promise.all(threads.map((thread) => ended(free, thread, 'steps', { input: { left: 1 } })));
  expect((await rowsOf(threads)).map(({ revision, status }) => [revision, status])).toEqual(
    threads.map(() => [null, 'success']),
  );
});
