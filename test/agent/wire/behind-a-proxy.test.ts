import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* Agents behind a proxy, which this test plays, and agents that trust nobody. */

let database: TestDatabase;
let trusting: AgentProcess;
let alone: AgentProcess;
beforeAll(async () => {
  database = await freshDatabase();
  const env = { GX_STREAMS_PER_CALLER: '1', GX_LOG_LEVEL: 'error' };
  trusting = await startAgent({ database: database.uri, env: { ...env, GX_TRUSTED_PROXIES: '127.0.0.0/8, ::1' } });
  alone = await startAgent({ database: database.uri, env: { ...env, GX_TRUSTED_PROXIES: '192.0.2.0/24' } });
});
afterAll(async () => {
  await Promise.all([trusting.kill(), alone.kill()]);
  await database.drop();
});

type Headers = Record<string, string>;
const from = (client: string): Headers => ({ 'x-forwarded-for': client });

/** Opens a stream of a thread, and returns its status. It stays open until `leaving` is aborted. */
async function opened(agent: AgentProcess, headers: Headers, leaving: AbortController): Promise<number> {
  const { thread_id } = await agent.client.threads.create();
  return (await fetch(`${agent.url}/threads/${thread_id}/stream`, { headers, signal: leaving.signal })).status;
}

describe('limits of anonymous callers', () => {
  test('are for each client behind a trusted proxy, whatever it wrote itself', async () => {
    const leaving = new AbortController();
    const [first, second, again] = [
      await opened(trusting, from('203.0.113.1'), leaving),
      await opened(trusting, from('203.0.113.2'), leaving),
      await opened(trusting, from('198.51.100.7, 203.0.113.1'), leaving),
    ];
    expect([first, second, again]).toEqual([200, 200, 429]);
    leaving.abort();
  });

  test('are for each client that asks for a WebSocket, too', async () => {
    const { thread_id } = await trusting.client.threads.create();
    const url = `${trusting.url.replace('http', 'ws')}/threads/${thread_id}/stream/events`;
    const connect = (client: string): WebSocket => new WebSocket(url, { headers: from(client) });
    const first = connect('203.0.113.3');
    await once(first, 'open');
    const [code] = (await once(connect('203.0.113.3'), 'close')) as [number];
    expect(code).toBe(4429);
    const other = connect('203.0.113.4');
    await once(other, 'open');
    expect(other.readyState).toBe(WebSocket.OPEN);
    first.terminate();
    other.terminate();
  });

  test('are for the address of a connection that is not trusted, whatever it claims', async () => {
    const leaving = new AbortController();
    expect([await opened(alone, from('203.0.113.1'), leaving), await opened(alone, from('203.0.113.2'), leaving)]).toEqual([200, 429]);
    leaving.abort();
  });
});

describe('addresses of the server', () => {
  const PUBLIC = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'agents.example.com', 'x-forwarded-prefix': '/team/chat' };

  type Card = { supportedInterfaces: { url: string }[] };
  async function cardOf(agent: AgentProcess): Promise<string[]> {
    const [assistant] = await agent.client.assistants.search({ graphId: 'steps' });
    const id = assistant!.assistant_id;
    const answer = await fetch(`${agent.url}/.well-known/agent-card.json?assistant_id=${id}`, { headers: PUBLIC });
    return ((await answer.json()) as Card).supportedInterfaces.map(({ url }) => url.slice(0, url.indexOf('/a2a')));
  }

  async function feedbackOf(agent: AgentProcess): Promise<string> {
    const body = { assistant_id: 'steps', input: { left: 1 }, feedback_keys: ['score'] };
    const answer = await fetch(`${agent.url}/runs/wait`, {
      method: 'POST',
      headers: { ...PUBLIC, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { __feedback__ } = (await answer.json()) as { __feedback__: { score: string } };
    return __feedback__.score.slice(0, __feedback__.score.indexOf('/feedback'));
  }

  test('are those that a trusted proxy names, in agent cards and in links for feedback', async () => {
    const at = 'https://agents.example.com/team/chat';
    expect(new Set(await cardOf(trusting))).toEqual(new Set([at]));
    expect(await feedbackOf(trusting)).toBe(at);
  });

  test('are no matter of anybody else', async () => {
    expect(new Set(await cardOf(alone))).toEqual(new Set([alone.url]));
    expect(await feedbackOf(alone)).toBe(alone.url);
  });
});
