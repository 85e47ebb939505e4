import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* A run takes the newest version of its assistant, or the one that it names. */

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

type RunRecord = {
  run_id: string;
  attempt: number;
  revision: string | null;
  kwargs: { assistant_version: number; context: unknown };
};

async function called<Answer>(
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; answer: Answer }> {
  const response = await fetch(`${agent.url}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, answer: (await response.json()) as Answer };
}

test('a run has the settings of the version that it names, and none of newer ones', async () => {
  const { assistant_id: id } = await agent.client.assistants.create({
    graphId: 'approval',
    context: { tone: 'dry' },
  });
  await agent.client.assistants.update(id, { context: { tone: 'warm', model: 'large' } });
  const { thread_id: thread } = await agent.client.threads.create();
  const runWith = async (version?: number): Promise<RunRecord> => {
    const body = {
      assistant_id: id,
      input: { request: 'go' },
      ...(version !== undefined && { assistant_version: version }),
    };
    const made = await called<RunRecord>('POST', `/threads/${thread}/runs`, body);
    await agent.client.runs.join(thread, made.answer.run_id);
    return (await called<RunRecord>('GET', `/threads/${thread}/runs/${made.answer.run_id}`)).answer;
  };
  expect(await runWith()).toMatchObject({
    attempt: 1,
    revision: null,
    kwargs: { assistant_version: 2, context: { tone: 'warm', model: 'large' } },
  });
  const { kwargs } = await runWith(1);
  expect([kwargs.assistant_version, kwargs.context]).toEqual([1, { tone: 'dry' }]);
});

test('a version that there is not, or that is none, is refused', async () => {
  const asked = (version: unknown) =>
    called('POST', '/runs', { assistant_id: 'approval', assistant_version: version });
  expect(await asked(7)).toMatchObject({
    status: 404,
    answer: { detail: expect.stringContaining('has no version 7') },
  });
  expect([
    (await asked(0)).status,
    (await asked('x')).status,
    (await asked(2 ** 31)).status,
  ]).toEqual([422, 422, 422]);
});
