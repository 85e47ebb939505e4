import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* The finer points of the interface, over the wire. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/wire/contract/graphs/gx.json' });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Answer = { status: number; body: Record<string, unknown> };
const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
  const response = await fetch(`${agent.url}${path}`, { method, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> };
};

describe('what a run is called with', () => {
  test('context and configurable are one; assistant and request are merged in that order', async () => {
    const assistant = await agent.client.assistants.create({
      graphId: 'shows',
      config: { configurable: { model: 'small', tone: 'kind' } },
      metadata: { team: 'a' },
    });
    const thread = await agent.client.threads.create({ metadata: { ticket: 7 } });
    const { seen } = (await agent.client.runs.wait(thread.thread_id, assistant.assistant_id, {
      input: {},
      context: { model: 'large' },
      metadata: { team: 'b' },
    })) as { seen: Record<string, unknown> };
    const ids = { thread_id: thread.thread_id, graph_id: 'shows', assistant_id: assistant.assistant_id };
    expect(seen).toMatchObject({
      configurable: {
        model: 'large',
        tone: 'kind',
        user_id: null,
        langgraph_auth_user: null,
        run_id: expect.any(String) as string,
        ...ids,
      },
      context: { model: 'large', tone: 'kind' },
      metadata: { team: 'b', ticket: 7, run_attempt: 1, langgraph_api_version: expect.any(String) as string, graph_id: 'shows' },
    });
  });

  test('settings in configurable reach the context', async () => {
    const body = { assistant_id: 'shows', input: {}, config: { configurable: { model: 'tiny' } } };
    const answer = await call('POST', '/runs/wait', body);
    expect(answer.body['seen']).toMatchObject({ context: { model: 'tiny' }, configurable: { model: 'tiny' } });
  });

  test('context together with configurable is refused', async () => {
    const body = { assistant_id: 'shows', input: {}, context: { model: 'a' }, config: { configurable: { model: 'b' } } };
    expect(await call('POST', '/runs/wait', body)).toEqual({ status: 400, body: { detail: expect.stringMatching(/context/) as string } });
  });

  test('feedback is refused with a sentence, the tracer is passed over', async () => {
    const body = { assistant_id: 'shows', input: {} };
    expect((await call('POST', '/runs/wait', { ...body, feedback_keys: ['score'] })).status).toBe(422);
    expect((await call('POST', '/runs/wait', { ...body, langsmith_tracer: { project_name: 'x' } })).status).toBe(200);
  });
});

describe('a history written by hand', () => {
  test('takes values and commands as nodes would return them', async () => {
    const supersteps = [
      { updates: [{ values: { left: 5 }, as_node: '__input__' }] },
      { updates: [{ command: { update: { left: 1, done: 4 } }, as_node: 'step' }] },
    ];
    const made = await call('POST', '/threads', { metadata: { graph_id: 'steps' }, supersteps });
    expect(made).toMatchObject({ status: 200, body: { status: 'interrupted', values: { left: 1, done: 4 } } });
    const state = await agent.client.runs.wait(made.body['thread_id'] as string, 'steps', { input: null });
    expect(state).toMatchObject({ left: 0, done: 5 });
  });
});
