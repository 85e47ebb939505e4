import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Clients send fields that mean the same as others, and fields that are passed over as the docs say. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const post = async (path: string, body: object): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(`${agent.url}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
};

describe('on_not_exist is if_not_exists', () => {
  const wait = (fields: object): ReturnType<typeof post> =>
    post(`/threads/${crypto.randomUUID()}/runs/wait`, {
      assistant_id: 'steps',
      input: { left: 1 },
      ...fields,
    });

  test('it makes the thread, or does not', async () => {
    expect(await wait({ on_not_exist: 'create' })).toMatchObject({
      status: 200,
      body: { done: 1 },
    });
    expect(await wait({ on_not_exist: 'create', if_not_exists: 'create' })).toMatchObject({
      status: 200,
    });
    expect(await wait({ on_not_exist: 'reject' })).toMatchObject({ status: 404 });
    expect(await wait({ on_not_exist: null })).toMatchObject({ status: 404 });
  });

  test('two that say different things are refused', async () => {
    const answer = await wait({ on_not_exist: 'create', if_not_exists: 'reject' });
    expect(answer).toMatchObject({
      status: 422,
      body: { detail: expect.stringContaining('on_not_exist') as unknown },
    });
  });
});

test('assistants are searched and counted by ids', async () => {
  const { assistants } = agent.client;
  const made = await Promise.all(
    ['steps', 'chat', 'steps'].map((graphId) => assistants.create({ graphId })),
  );
  const ids = made.map(({ assistant_id }) => assistant_id);
  const found = async (filters: object): Promise<string[]> =>
    ((await post('/assistants/search', filters)).body as { assistant_id: string }[]).map(
      ({ assistant_id }) => assistant_id,
    );
  expect((await found({ ids })).toSorted()).toEqual(ids.toSorted());
  expect(await found({ ids: [ids[1], crypto.randomUUID()] })).toEqual([ids[1]]);
  expect((await found({ ids, graph_id: 'steps' })).toSorted()).toEqual(
    [ids[0]!, ids[2]!].toSorted(),
  );
  expect(await found({ ids: [] })).toEqual([]);
  expect((await post('/assistants/count', { ids })).body).toBe(3);
  expect((await post('/assistants/count', { ids: [ids[0]] })).body).toBe(1);
  expect((await post('/assistants/search', { ids: ['steps'] })).status).toBe(422);
});

describe('what is passed over changes nothing', () => {
  test('langsmith_tracer of a run, and strict_resume of one that answers nothing', async () => {
    const { runs } = agent.client;
    const fields = { strictResume: true, _langsmithTracer: { projectName: 'p', exampleId: 'e' } };
    expect(
      await runs.wait(null, 'steps', { input: { left: 1 }, ...(fields as object) }),
    ).toMatchObject({ done: 1 });
    const info = (await (await fetch(`${agent.url}/info`)).json()) as { flags: object };
    expect(info.flags).not.toHaveProperty('strict_resume');
    expect(info.flags).toMatchObject({ stream_namespaces: true });
  });

  test('the reason of a cancel, and the checkpoint of a stream that is joined', async () => {
    const { runs, threads } = agent.client;
    const { thread_id } = await threads.create();
    const { run_id } = await runs.create(thread_id, 'steps', { input: { left: 5, pause: 1000 } });
    await runs.cancel(thread_id, run_id, true, 'interrupt', { reason: 'taken' });
    expect(await runs.get(thread_id, run_id)).toMatchObject({ status: 'interrupted' });
    const options = { checkpointId: crypto.randomUUID() };
    expect(await Array.fromAsync(runs.joinStream(thread_id, run_id, options as object))).toEqual(
      [],
    );
  });
});
