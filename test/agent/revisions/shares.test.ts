import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RolloutPlan } from '../../../src/schema/wire/rollout-plan.ts';
import type { WorkReport } from '../../../src/schema/wire/work-report.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { startReceiver, type WebhookReceiver } from '../../kit/webhook-receiver.ts';

/*
 * Green is tried out with a share of the threads while blue serves. Two processes of blue make the runs; the rows say
 * which revision each belongs to.
 */

const [BLUE, GREEN] = ['chat-00001', 'chat-00002'];

let database: TestDatabase;
let gateway: WebhookReceiver;
let folder: string;
let plan: RolloutPlan | undefined;
/** Two pods of blue that answer requests; only the first hears of plans. */
let fronts: AgentProcess[];
let green: AgentProcess;
let reports: Record<string, string>;
const started: AgentProcess[] = [];

async function start(revision: string, more: Record<string, string> = {}): Promise<AgentProcess> {
  const agent = await startAgent({
    database: database.uri,
    env: { GX_REVISION: revision, GX_PIN: 'Run', N_JOBS_PER_WORKER: '0', ...more },
  });
  started.push(agent);
  return agent;
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
  reports = { GX_REPORT_URL: `${gateway.url}/work`, GX_REPORT_KEY_FOLDER: folder };
  const first = await start(BLUE, reports);
  fronts = [first, await start(BLUE)];
  green = await start(GREEN);
});

afterAll(async () => {
  await Promise.all(started.map((agent) => agent.kill()));
  await gateway.stop();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

type Asked = Partial<NonNullable<RolloutPlan['candidate']>> | undefined;

/** Makes a plan and waits until the database has it. Undefined: green is tried out no longer. */
async function planned(candidate: Asked, more: Partial<RolloutPlan> = {}): Promise<void> {
  const at = new Date().toISOString();
  const tried = candidate && { revision: GREEN, share: 0, by: 'thread' as const, ...candidate };
  plan = {
    made_at: at,
    current: BLUE,
    living: [BLUE, GREEN],
    draining: [],
    ...(tried && { candidate: tried }),
    ...more,
  };
  await until('the plan is kept', async () => {
    // A run that is made is reported soon.
    await made(fronts[0]!, {});
    const [kept] = await database.sql<{ at: Date }>('select made_at as at from gx.rollout');
    return kept?.at.toISOString() === at;
  });
}

type Body = {
  thread?: string;
  metadata?: object;
  headers?: Record<string, string>;
  graph?: string;
  body?: object;
};

/** Makes a run, on a thread of its own unless one is named, and returns the answer. */
async function asked(
  { url }: AgentProcess,
  { thread, metadata = {}, headers = {}, graph = 'steps', body }: Body,
): Promise<Response> {
  const place = thread === undefined ? '/runs' : `/threads/${thread}/runs`;
  return fetch(`${url}${place}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ assistant_id: graph, input: { left: 0 }, metadata, ...body }),
  });
}

async function made(agent: AgentProcess, body: Body): Promise<string> {
  const answer = await asked(agent, body);
  const { run_id } = (await answer.json()) as { run_id: string };
  expect(answer.status).toBe(200);
  return run_id;
}

type Place = { revision: string; thread_id: string; run_id: string };
const placesOf = (batch: string): Promise<Place[]> =>
  database.sql<Place>(
    `select revision, thread_id, run_id from gx.run where metadata->>'batch' = $1 order by created_at, run_id`,
    [batch],
  );
const revisionOf = async (run: string): Promise<string | undefined> =>
  (
    await database.sql<Place>('select revision, thread_id, run_id from gx.run where run_id = $1', [
      run,
    ])
  )[0]?.revision;

/** Makes so many runs, in turn by the processes of blue; a few at a time. */
async function makeMany(
  batch: string,
  many: number,
  body: (at: number) => Body = () => ({}),
): Promise<Place[]> {
  let next = 0;
  const maker = async (): Promise<void> => {
    while (next < many) {
      const at = next++;
      await made(fronts[at % 2]!, { metadata: { batch }, ...body(at) });
    }
  };
  await Promise.all(Array.from({ length: 20 }, maker));
  return placesOf(batch);
}

/** Returns an id that is the same in every run of the tests. Of drawn ids, one draw in 400 misses the share. */
const fixedId = (at: number): string => {
  const hex = createHash('sha256').update(`thread ${at}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

const shareOf = (places: Place[]): number =>
  (100 * places.filter(({ revision }) => revision === GREEN).length) / places.length;

test('of 2,000 threads at 10 percent, 8 to 12 percent belong to the candidate, none to both, and those that are in stay in', async () => {
  await planned({ share: 10 });
  const first = await makeMany('first', 2000, (at) => ({
    thread: fixedId(at),
    body: { if_not_exists: 'create' },
  }));
  expect(first).toHaveLength(2000);
  expect(shareOf(first)).toBeGreaterThan(8);
  expect(shareOf(first)).toBeLessThan(12);
  await planned({ share: 50 });
  const all = [...new Set(first.map(({ thread_id }) => thread_id))];
  const again = await makeMany('again', 400, (at) => ({
    thread: all[at]!,
    metadata: { batch: 'again' },
  }));
  const before = new Map(first.map(({ thread_id, revision }) => [thread_id, revision]));
  expect(again.filter(({ thread_id, revision }) => before.get(thread_id) !== revision)).toEqual([]);
  expect(shareOf(await makeMany('half', 400))).toBeGreaterThan(40);
});

test('whoever asks the candidate itself, or names it, gets it; others name nothing', async () => {
  await planned({ share: 0 });
  expect(await revisionOf(await made(green, {}))).toBe(GREEN);
  expect(await revisionOf(await made(fronts[0]!, {}))).toBe(BLUE);
  expect(await revisionOf(await made(fronts[1]!, { headers: { 'x-gx-revision': GREEN } }))).toBe(
    GREEN,
  );
  expect(await revisionOf(await made(green, { headers: { 'x-gx-revision': BLUE } }))).toBe(BLUE);
  const refused = await asked(fronts[0]!, { headers: { 'x-gx-revision': 'chat-00007' } });
  expect([refused.status, await refused.text()]).toEqual([
    422,
    expect.stringContaining('X-Gx-Revision'),
  ]);
  await planned({ share: 100 });
  expect(await revisionOf(await made(fronts[1]!, { headers: { 'x-gx-revision': BLUE } }))).toBe(
    BLUE,
  );
});

test('threads of one assistant stay together where the assistant decides', async () => {
  const assistants = await Promise.all(
    Array.from(
      { length: 12 },
      async (_, at) =>
        (await fronts[0]!.client.assistants.create({ graphId: 'steps', name: `a${at}` }))
          .assistant_id,
    ),
  );
  await planned({ share: 50, by: 'assistant' });
  const places = await makeMany('assistants', 120, (at) => ({
    graph: assistants[at % 12]!,
    metadata: { batch: 'assistants', of: at % 12 },
  }));
  const rows = await database.sql<{ assistant_id: string; revision: string }>(
    `select distinct assistant_id, revision from gx.run where metadata->>'batch' = 'assistants'`,
  );
  expect(places).toHaveLength(120);
  expect(rows).toHaveLength(12);
  expect(new Set(rows.map(({ revision }) => revision)).size).toBe(2);
});

test('a candidate that is given up keeps what it has begun, and what it has not begun goes back', async () => {
  await planned({ share: 100 });
  const worker = await start(GREEN, { N_JOBS_PER_WORKER: '1' });
  const asking = (await fronts[0]!.client.threads.create()).thread_id;
  await fronts[0]!.client.runs.wait(asking, 'approval', { input: { request: 'go' } });
  await worker.kill();
  const waiting = await made(fronts[0]!, { metadata: { batch: 'waiting' } });
  const answer = await made(fronts[0]!, {
    thread: asking,
    graph: 'approval',
    body: { input: null, command: { resume: 'yes' } },
  });
  expect([await revisionOf(waiting), await revisionOf(answer)]).toEqual([GREEN, GREEN]);
  await planned(undefined, { draining: [GREEN], aborted: [GREEN] });
  expect([await revisionOf(waiting), await revisionOf(answer)]).toEqual([BLUE, GREEN]);
  expect(await revisionOf(await made(fronts[1]!, {}))).toBe(BLUE);
  const [thread] = await placesOf('waiting');
  expect(await revisionOf(await made(fronts[0]!, { thread: thread!.thread_id }))).toBe(BLUE);
});

test('a graph that the candidate lacks stays with the revision that serves', async () => {
  const graphsOf = (name: string) =>
    database.sql<{ graphs: string[] }>('select graphs from gx.revision where name = $1', [name]);
  expect((await graphsOf(GREEN))[0]?.graphs.toSorted()).toEqual([
    'approval',
    'broken',
    'chat',
    'steps',
  ]);
  await planned({ share: 100 });
  const thread = (await fronts[0]!.client.threads.create()).thread_id;
  expect(await revisionOf(await made(fronts[0]!, { thread }))).toBe(GREEN);
  await database.sql(`update gx.revision set graphs = '{approval}' where name = $1`, [GREEN]);
  expect(await revisionOf(await made(fronts[0]!, {}))).toBe(BLUE);
  expect(await revisionOf(await made(fronts[1]!, { thread }))).toBe(BLUE);
  const named = await asked(fronts[0]!, { headers: { 'x-gx-revision': GREEN } });
  expect([named.status, await named.text()]).toEqual([
    422,
    expect.stringContaining('does not have the graph steps'),
  ]);
  expect(
    await revisionOf(
      await made(fronts[0]!, { graph: 'approval', body: { input: { request: 'go' } } }),
    ),
  ).toBe(GREEN);
  await database.sql(
    `update gx.revision set graphs = '{approval,broken,chat,steps}' where name = $1`,
    [GREEN],
  );
});

/** Returns the last report of a process that executes runs, with its counts of a revision. */
function countedOf(revision: string) {
  const reported = gateway.at('/work').map(({ body }) => body as unknown as WorkReport);
  return reported
    .findLast(({ slots, ended }) => slots > 0 && ended !== undefined)
    ?.ended?.find((counts) => counts.revision === revision);
}

test('while a revision is tried out, its workers report how its runs end, and which do not', async () => {
  const RED = 'chat-00003';
  await planned({ revision: RED, share: 0 }, { living: [BLUE, GREEN, RED] });
  const worker = await start(RED, { ...reports, N_JOBS_PER_WORKER: '4' });
  const headers = { 'x-gx-revision': RED };
  // A worker reports each half a minute, and at once where another process has brought a newer plan.
  await until(
    'it has reported',
    () => gateway.at('/work').some(({ body }) => Number(body['slots']) === 4),
    10,
  );
  await planned({ revision: RED, share: 1 }, { living: [BLUE, GREEN, RED] });
  await until(
    'it hears that it is tried out',
    () => gateway.at('/work').some(({ body }) => Number(body['slots']) === 4 && 'ended' in body),
    10,
  );
  for (const graph of ['steps', 'steps', 'steps', 'broken'])
    await made(fronts[0]!, { headers, graph, body: { input: { left: 1, how: 'no' } } });
  const stopped = (await fronts[0]!.client.threads.create()).thread_id;
  const long = await made(fronts[0]!, {
    headers,
    thread: stopped,
    body: { input: { left: 20, pause: 2000 } },
  });
  const counts = await until('the ends are reported', () => {
    const found = countedOf(RED);
    return found?.done === 4 && found.ages.length > 0 && found;
  });
  expect(counts).toMatchObject({ done: 4, errors: 1, lost: 0 });
  const sum = (buckets: [number, number][]): number =>
    buckets.reduce((all, [, count]) => all + count, 0);
  expect([sum(counts.durations), sum(counts.ages)]).toEqual([3, 1]);
  await fronts[0]!.client.runs.cancel(stopped, long, true);
  // A run that somebody stops counts for nothing.
  await until('none is under way', () => countedOf(RED)?.ages.length === 0);
  expect(countedOf(RED)?.done).toBe(counts.done);
  await worker.kill();
});

const gateOf = (id: string): WorkReport['gate'] =>
  gateway
    .at('/work')
    .map(({ body }) => body as unknown as WorkReport)
    .findLast(({ gate }) => gate?.id === id)?.gate;

test('the run of a gate is made once by pods of its revision, which report how it ends', async () => {
  const TRIED = 'chat-00004';
  const [worker, api] = [
    await start(TRIED, { ...reports, N_JOBS_PER_WORKER: '2' }),
    await start(TRIED, reports),
  ];
  const atGate = async (id: string, gate: object): Promise<void> =>
    planned(
      { revision: TRIED, share: 0, gate: { id, ...gate } as never },
      { living: [BLUE, TRIED] },
    );
  const ended = (id: string, status: string) =>
    until(`${id} is reported as ${status}`, () => {
      const gate = gateOf(id);
      return gate?.status === status && gate;
    });
  await atGate('a', { assistant: 'steps', input: { left: 1 } });
  const { message } = await ended('a', 'success');
  const runs = await database.sql<Place>(
    `select revision, thread_id, run_id from gx.run where metadata->>'gate' = 'a'`,
  );
  expect(runs.map(({ revision }) => revision)).toEqual([TRIED]);
  expect(message).toBe(`run ${runs[0]!.run_id} of thread ${runs[0]!.thread_id}`);
  await atGate('b', { assistant: 'broken', input: { how: 'no' } });
  await ended('b', 'error');
  await atGate('c', { assistant: 'nobody', input: {} });
  expect((await ended('c', 'error')).message).toMatch(/Invalid assistant|validation|nobody/i);
  await Promise.all([worker.kill(), api.kill()]);
});
