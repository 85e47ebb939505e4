import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@langchain/langgraph-sdk';
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
  trusting = await startAgent({
    database: database.uri,
    env: { ...env, GX_TRUSTED_PROXIES: '127.0.0.0/8, ::1' },
  });
  alone = await startAgent({
    database: database.uri,
    env: { ...env, GX_TRUSTED_PROXIES: '192.0.2.0/24' },
  });
});
afterAll(async () => {
  await Promise.all([trusting.kill(), alone.kill()]);
  await database.drop();
});

type Headers = Record<string, string>;
const from = (client: string): Headers => ({ 'x-forwarded-for': client });

/** Opens a stream of a thread, and returns its status. It stays open until `leaving` is aborted. */
async function opened(
  agent: AgentProcess,
  headers: Headers,
  leaving: AbortController,
): Promise<number> {
  const { thread_id } = await agent.client.threads.create();
  return (
    await fetch(`${agent.url}/threads/${thread_id}/stream`, { headers, signal: leaving.signal })
  ).status;
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
    expect([
      await opened(alone, from('203.0.113.1'), leaving),
      await opened(alone, from('203.0.113.2'), leaving),
    ]).toEqual([200, 429]);
    leaving.abort();
  });
});

describe('the place of a run', () => {
  const STRIPPED = { 'x-forwarded-prefix': '/team/chat', 'content-type': 'application/json' };
  const ASKED = {
    assistant_id: 'steps',
    input: { left: 2 },
    stream_mode: 'updates',
    stream_resumable: true,
  };

  async function linksOf(
    agent: AgentProcess,
    path: string,
  ): Promise<{ run: string; again: string | null }> {
    const answer = await fetch(agent.url + path, {
      method: 'POST',
      headers: STRIPPED,
      body: JSON.stringify(ASKED),
    });
    await answer.text();
    return { run: answer.headers.get('content-location')!, again: answer.headers.get('location') };
  }

  const ID = '[0-9a-f-]{36}';
  const below = (path: string): RegExp =>
    new RegExp(`^https://agents.example.com/team/chat${path}$`);

  const BASE = 'https://agents.example.com/team/chat';
  const ofWaiting = `/threads/${ID}/runs/${ID}`;

  test.each([
    ['/runs', `/runs/${ID}`],
    ['/runs/stream', `/runs/${ID}`],
    ['/runs/wait', ofWaiting],
  ])('by %s has the path that a trusted proxy has taken', async (path, run) => {
    const links = await linksOf(trusting, path);
    expect(new URL(links.run, BASE).href).toMatch(below(run));
    expect(links.run).toMatch(/^\/team\/chat\//);
  });

  test.each([
    ['/runs/stream', `/runs/${ID}/stream`],
    ['/runs/wait', `${ofWaiting}/join`],
  ])(
    'by %s is found again by those who resolve its address, and by those who append it',
    async (path, again) => {
      const links = await linksOf(trusting, path);
      expect(new URL(links.again!, BASE + path).href).toMatch(below(again));
      expect(new URL(BASE + links.again!).href).toMatch(below(again));
    },
  );

  test('has no such path if anybody else names it', async () => {
    const links = await linksOf(alone, '/runs/stream');
    expect([links.run, links.again]).toEqual([
      expect.stringMatching(new RegExp(`^/runs/${ID}$`)),
      expect.stringMatching(new RegExp(`^/runs/${ID}/stream$`)),
    ]);
  });

  /** Takes the path from requests, as an HTTPRoute does, and breaks the first stream off after its first event. */
  async function openProxy(): Promise<{ url: string; asked: string[]; close: () => void }> {
    const asked: string[] = [];
    const server = createServer((incoming, answer) => {
      const { url = '', method, headers } = incoming;
      asked.push(`${method} ${url}`);
      if (!url.startsWith('/team/chat/')) return void answer.writeHead(404).end();
      const path = url.slice('/team/chat'.length);
      const isFirst = method === 'POST' && path.endsWith('/stream');
      const passing = request(
        trusting.url + path,
        { method, headers: { ...headers, 'x-forwarded-prefix': '/team/chat' } },
        (got) => {
          answer.writeHead(got.statusCode ?? 502, got.headers);
          got.on('data', (chunk: Buffer) => {
            answer.write(chunk);
            if (isFirst && chunk.includes('event: updates')) setTimeout(() => answer.destroy(), 20);
          });
          got.on('end', () => answer.end());
        },
      );
      passing.on('error', () => answer.destroy());
      incoming.pipe(passing);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const close = (): void => {
      server.closeAllConnections();
      server.close();
    };
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/team/chat`,
      asked,
      close,
    };
  }

  test('is found by the official client that lost its connection', async () => {
    const proxy = await openProxy();
    const client = new Client({ apiUrl: proxy.url, apiKey: null });
    const { thread_id } = await client.threads.create();
    const asked = {
      input: { left: 4, pause: 300 },
      streamMode: 'updates',
      streamResumable: true,
    } as const;
    const left: number[] = [];
    for await (const { event, data } of client.runs.stream(
      thread_id,
      'steps',
      asked,
    ) as AsyncIterable<{ event: string; data: unknown }>)
      if (event === 'updates') left.push((data as { step: { left: number } }).step.left);
    expect(left).toEqual([3, 2, 1, 0]);
    expect(proxy.asked.filter((line) => /^GET .*\/stream/.test(line))).toEqual([
      expect.stringMatching(new RegExp(`^GET /team/chat/threads/${thread_id}/runs/${ID}/stream`)),
    ]);
    proxy.close();
  });
});

describe('addresses of the server', () => {
  const PUBLIC = {
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'agents.example.com',
    'x-forwarded-prefix': '/team/chat',
  };

  type Card = { supportedInterfaces: { url: string }[] };
  async function cardOf(agent: AgentProcess): Promise<string[]> {
    const [assistant] = await agent.client.assistants.search({ graphId: 'steps' });
    const id = assistant!.assistant_id;
    const answer = await fetch(`${agent.url}/.well-known/agent-card.json?assistant_id=${id}`, {
      headers: PUBLIC,
    });
    return ((await answer.json()) as Card).supportedInterfaces.map(({ url }) =>
      url.slice(0, url.indexOf('/a2a')),
    );
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
