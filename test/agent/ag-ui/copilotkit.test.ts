import { randomUUID } from 'node:crypto';
import { HttpAgent } from 'ag-ui-client-before';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { newInput, post, readEvents, readText, typesOf } from './kit.ts';

/* The paths of CopilotKit's runtime, with the client that its pages use. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/ag-ui/graphs/gx.json' });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const newPage = (path: string, threadId: string): HttpAgent =>
  new HttpAgent({ url: `${agent.url}/copilotkit/agent/chat/${path}`, threadId });

const textsOf = ({ messages }: HttpAgent): string[] =>
  messages.map(({ content }) => readText(content ?? ''));

const statusesOf = async (threadId: string): Promise<string[]> => {
  const runs = await (await fetch(`${agent.url}/threads/${threadId}/runs`)).json();
  return (runs as { status: string }[]).map(({ status }) => status);
};

test('the agents are named by their graphs, and others by their ids', async () => {
  const { assistant_id } = await agent.client.assistants.create({ graphId: 'chat', name: 'chat' });
  const info = (await (await fetch(`${agent.url}/copilotkit/info`)).json()) as {
    mode: string;
    agents: Record<string, { name: string }>;
  };
  expect(info.mode).toBe('sse');
  expect(Object.keys(info.agents).toSorted()).toEqual(
    ['approval', 'chat', 'guarded', 'paused', 'shared', assistant_id].toSorted(),
  );
});

test('a run goes on when its page is gone, and a page that comes back has all of it', async () => {
  const threadId = randomUUID();
  const page = newPage('run', threadId);
  page.addMessage({ id: randomUUID(), role: 'user', content: 'a bit slow' });
  await page
    .runAgent({}, { onTextMessageContentEvent: () => page.abortRun() })
    .catch(() => undefined);
  const again = newPage('connect', threadId);
  await again.runAgent();
  expect(textsOf(again)).toEqual(['a bit slow', 'slow '.repeat(12)]);
  expect(await statusesOf(threadId)).toEqual(['success']);
});

test('a stop without a body stops what runs on the thread, and a stop of another run does not', async () => {
  const threadId = randomUUID();
  const input = newInput('slow slow', { threadId, protocolVersion: undefined });
  const reply = await post(`${agent.url}/copilotkit/agent/chat/run`, input);
  await until('the agent runs', async () => (await statusesOf(threadId))[0] === 'running');
  const stop = async (body?: string): Promise<unknown> => {
    const address = `${agent.url}/copilotkit/agent/chat/stop/${threadId}`;
    const headers = { 'content-type': 'application/json' };
    return (await fetch(address, { method: 'POST', headers, ...(body && { body }) })).json();
  };
  expect(await stop('{"runId":"another"}')).toEqual({ stopped: false });
  expect(await stop()).toEqual({ stopped: true });
  const events = readEvents(await reply.text());
  expect(typesOf(events).at(-1)).toBe('RUN_ERROR');
  expect(events.at(-1)).toMatchObject({ code: 'abort' });
  expect(await statusesOf(threadId)).toEqual(['interrupted']);
});
