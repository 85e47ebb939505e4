import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/*
 * Blue was replaced by green, and has threads that wait. Its graph has other nodes and another reducer than that of
 * green, and blue has a graph that green lacks. All requests go to green.
 */

const [BLUE, GREEN] = ['chat-00001', 'chat-00002'];

let database: TestDatabase;
/** A queue pod. */
let blue: AgentProcess;
/** Two pods that only answer requests. */
let green: AgentProcess;
let other: AgentProcess;

const start = (color: string, revision: string, slots: number): Promise<AgentProcess> =>
  startAgent({
    database: database.uri,
    config: `test/agent/revisions/graphs/${color}/gx.json`,
    env: { GX_REVISION: revision, GX_PIN: 'Run', N_JOBS_PER_WORKER: String(slots) },
  });
const startBlue = async (): Promise<AgentProcess> => (blue = await start('blue', BLUE, 5));

beforeAll(async () => {
  database = await freshDatabase();
  [, green, other] = await Promise.all([
    startBlue(),
    start('green', GREEN, 0),
    start('green', GREEN, 0),
  ]);
});

afterAll(async () => {
  await Promise.all([blue, green, other].map((agent) => agent.kill('SIGKILL')));
  await database.drop();
});

async function waitingThread(graph = 'notes'): Promise<string> {
  const { thread_id: thread } = await blue.client.threads.create();
  await blue.client.runs.wait(thread, graph, { input: { notes: ['first'] }, raiseError: false });
  return thread;
}

type State = { values: { notes: string[] }; next: string[] };
type Answered = { status: number; by: string | null; body: State };

async function asked(thread: string, place: string, body?: object): Promise<Answered> {
  const init = body && {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const answer = await fetch(`${green.url}/threads/${thread}${place}`, init);
  return {
    status: answer.status,
    by: answer.headers.get('x-gx-answered-by'),
    body: (await answer.json()) as State,
  };
}
const callsLeft = (): Promise<object[]> => database.sql('select * from gx.call');

test('the graph of its own revision tells the state of a thread, and writes it', async () => {
  const thread = await waitingThread();
  expect(await asked(thread, '/state')).toMatchObject({
    status: 200,
    by: null,
    body: { next: ['ask'], values: { notes: ['blue: first'] } },
  });
  expect(await asked(thread, '/state', { values: { notes: ['second'] } })).toMatchObject({
    status: 200,
    by: null,
  });
  expect((await asked(thread, '/state')).body.values.notes).toEqual([
    'blue: first',
    'blue: second',
  ]);
  const history = await asked(thread, '/history', { limit: 10 });
  expect(history).toMatchObject({ status: 200, by: null });
  expect(history.body).toHaveLength(3);
  expect(await callsLeft()).toEqual([]);
});

test('a thread of a graph that the revision that serves lacks is told and written, too', async () => {
  const thread = await waitingThread('retired');
  expect((await asked(thread, '/state', { values: { notes: ['second'] } })).status).toBe(200);
  expect((await asked(thread, '/state')).body).toMatchObject({
    next: ['ask'],
    values: { notes: ['blue: first', 'blue: second'] },
  });
});

test('a refusal is that of the graph', async () => {
  const thread = await waitingThread();
  const [here, there] = [
    await fetch(`${blue.url}/threads/${thread}/state`, refusedWrite),
    await fetch(`${green.url}/threads/${thread}/state`, refusedWrite),
  ];
  expect(there.status).toBeGreaterThanOrEqual(400);
  expect([there.status, await there.json()]).toEqual([here.status, await here.json()]);
  expect(await callsLeft()).toEqual([]);
});
const refusedWrite = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ values: { notes: ['x'] }, as_node: 'nobody' }),
};

test('many at once are each answered once, by both that ask', async () => {
  const thread = await waitingThread();
  const many = Array.from({ length: 40 }, async (_, at) => {
    const state = await (at % 2 === 0 ? green : other).client.threads.getState<State['values']>(
      thread,
    );
    return [state.next, state.values.notes];
  });
  expect(await Promise.all(many)).toEqual(many.map(() => [['ask'], ['blue: first']]));
  expect(await callsLeft()).toEqual([]);
});

test('a write whose process is killed is not repeated by another revision', async () => {
  const thread = await waitingThread();
  const writing = asked(thread, '/state', { values: { notes: ['slow'] } });
  await expect
    .poll(() => database.sql('select 1 from gx.call where taken_by is not null'))
    .toHaveLength(1);
  await blue.kill('SIGKILL');
  expect(await writing).toMatchObject({ status: 503 });
  expect(await callsLeft()).toEqual([]);
  await startBlue();
  expect((await asked(thread, '/state')).body.values.notes).toEqual(['blue: first']);
});

test('where no process of it takes the call, the revision that serves answers, and says so', async () => {
  const thread = await waitingThread();
  blue.process.kill('SIGSTOP');
  expect(await asked(thread, '/state')).toMatchObject({
    status: 200,
    by: GREEN,
    body: { values: { notes: ['blue: first'] } },
  });
  blue.process.kill('SIGCONT');
  expect(await asked(thread, '/state')).toMatchObject({ status: 200, by: null });
  await blue.kill();
  const at = performance.now();
  expect(await asked(thread, '/state')).toMatchObject({
    status: 200,
    by: GREEN,
    body: { values: { notes: ['blue: first'] } },
  });
  expect(performance.now() - at).toBeLessThan(900);
  expect(await asked(thread, '/state', { values: { notes: ['second'] } })).toMatchObject({
    status: 200,
    by: GREEN,
  });
  expect((await asked(thread, '/state')).body.values.notes).toEqual([
    'blue: first',
    'green: second',
  ]);
  expect(await callsLeft()).toEqual([]);
});
