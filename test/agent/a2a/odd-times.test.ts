import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  a2aCalls,
  dataMessage,
  textMessage,
  type A2aCalls,
  type A2aError,
  type A2aTask,
} from '../../kit/a2a-calls.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* Tasks whose thread was pruned, answers that come at one moment, and what a task that was given up leaves. */

let agent: AgentProcess;
let database: TestDatabase;
let calls: A2aCalls;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/a2a/graphs/gx.json' });
  calls = a2aCalls(agent);
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const CANCELED = 'TASK_STATE_CANCELED';
const DONE = 'TASK_STATE_COMPLETED';

const prune = (thread: string, strategy: string): Promise<Response> =>
  fetch(`${agent.url}/threads/prune`, {
    method: 'POST',
    body: JSON.stringify({ thread_ids: [thread], strategy }),
  });

test('of a pruned thread the last task keeps its result, and an earlier one its state', async () => {
  const first = await calls.send('steps', dataMessage({ left: 1 }));
  const { contextId } = first;
  const last = await calls.send('steps', dataMessage({ left: 2 }, { contextId }));
  expect((await prune(contextId, 'keep_latest')).status).toBe(200);
  expect(await calls.get('steps', last.id)).toEqual(last);
  const { artifacts: _gone, ...state } = first;
  expect(await calls.get('steps', first.id)).toEqual(state);
});

test('a task whose thread was deleted is unknown', async () => {
  const { id, contextId } = await calls.send('steps', dataMessage({ left: 1 }));
  expect((await prune(contextId, 'delete')).status).toBe(200);
  expect(await calls.call('steps', 'GetTask', { id })).toMatchObject({ code: -32_001 });
});

test('of answers that come at one moment one goes on with the task, and the others are told so', async () => {
  const { id } = await calls.send('approval', dataMessage({ request: 'go' }));
  const answers = await Promise.all(
    [1, 2, 3, 4].map((number) =>
      calls.call<{ task?: A2aTask } & Partial<A2aError>>(
        'approval',
        'SendMessage',
        textMessage(`answer ${number}`, { taskId: id }),
      ),
    ),
  );
  const done = answers.flatMap(({ task }) => (task === undefined ? [] : [task]));
  expect(done).toMatchObject([{ id, status: { state: 'TASK_STATE_COMPLETED' } }]);
  expect(answers.filter(({ task }) => task === undefined).map(({ code }) => code)).toEqual([
    -32_004, -32_004, -32_004,
  ]);
  expect(await calls.get('approval', id)).toEqual(done[0]);
});

test('who joins a task while it ends hears of its last state, or that it has ended', async () => {
  const joined = await Promise.all(
    [0, 0, 100, 150, 160, 170, 180, 250].map(async (pause) => {
      const params = {
        ...dataMessage({ left: 1, pause: 150 }),
        configuration: { returnImmediately: true },
      };
      const { id } = await calls.send('steps', params);
      await sleep(pause);
      return calls.stream('steps', 'SubscribeToTask', { id });
    }),
  );
  const states = joined.map(
    (events) =>
      (events.at(-1) as { statusUpdate?: A2aTask } | undefined)?.statusUpdate?.status.state,
  );
  expect(states).toContain(DONE);
  // No stream, but an error without one.
  expect(joined.filter((events, index) => states[index] !== DONE && events.length > 0)).toEqual([]);
});

test('a task that is given up stays cancelled, and its thread rests and takes the next message', async () => {
  const { id, contextId } = await calls.send('approval', dataMessage({ request: 'go' }));
  await calls.call('approval', 'CancelTask', { id });
  expect(await agent.client.threads.get(contextId)).toMatchObject({
    status: 'idle',
    interrupts: {},
  });
  const next = await calls.send('approval', dataMessage({ request: 'stay' }, { contextId }));
  expect([next.id === id, next.status.state]).toEqual([false, 'TASK_STATE_INPUT_REQUIRED']);
  expect((await calls.get('approval', id)).status.state).toBe('TASK_STATE_CANCELED');
});

test('giving a task up and answering it at one moment leaves one of the two', async () => {
  const { id, contextId } = await calls.send('approval', dataMessage({ request: 'go' }));
  const [cancelled, answered] = await Promise.all([
    calls.call<A2aTask & Partial<A2aError>>('approval', 'CancelTask', { id }),
    calls.call<{ task?: A2aTask } & Partial<A2aError>>(
      'approval',
      'SendMessage',
      textMessage('yes', { taskId: id }),
    ),
  ]);
  const { state } = (await calls.get('approval', id)).status;
  // The answer may also have been cancelled on its way.
  expect([
    [CANCELED, CANCELED, -32_004],
    [CANCELED, CANCELED, CANCELED],
    [DONE, -32_002, DONE],
  ]).toContainEqual([
    state,
    cancelled.code ?? cancelled.status.state,
    answered.code ?? answered.task?.status.state,
  ]);
  await until(
    'the thread rests',
    async () => (await agent.client.threads.get(contextId)).status === 'idle',
  );
});
