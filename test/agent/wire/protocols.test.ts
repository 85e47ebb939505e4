import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dataMessage, rpc } from '../../kit/a2a-calls.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { startCollector, type Collector } from '../../kit/collector.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* What holds for all routes holds for MCP and A2A: a prefix, pages that may call, traces, metrics, and switches. */

const PAGES = 'https://pages.example.com';
const PROTOCOLS = ['/mcp', '/a2a/steps'] as const;

let agent: AgentProcess;
let collector: Collector;
let database: TestDatabase;

beforeAll(async () => {
  [collector, database] = await Promise.all([startCollector(), freshDatabase()]);
  const env = {
    LANGGRAPH_HTTP: JSON.stringify({ mount_prefix: '/agents', cors: { allow_origins: [PAGES] } }),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '20',
  };
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/a2a/graphs/gx.json',
    env,
  });
});

afterAll(async () => {
  await agent.kill();
  await collector.stop();
  await database.drop();
});

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

const post = (
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${agent.url}${path}`, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** Runs the graph once, by either protocol. A message of A2A that comes again would be the same task. */
const CALLS: Record<(typeof PROTOCOLS)[number], object> = {
  '/mcp': rpc('tools/call', { name: 'steps', arguments: { left: 1 } }),
  get '/a2a/steps'() {
    return rpc('SendMessage', dataMessage({ left: 1 }));
  },
};

describe.each(PROTOCOLS)('%s', (path) => {
  test('answers under the prefix, and nowhere else', async () => {
    const answer = await post(`/agents${path}`, CALLS[path]);
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"done"')]);
    expect((await post(path, CALLS[path])).status).toBe(404);
  });

  test('answers the question of a browser, and lets pages of a listed origin read answers and errors', async () => {
    const asked = await fetch(`${agent.url}/agents${path}`, {
      method: 'OPTIONS',
      headers: {
        origin: PAGES,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,mcp-protocol-version,a2a-version,x-api-key',
      },
    });
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, PAGES]);
    expect(asked.headers.get('access-control-allow-headers')).toBe(
      'content-type,mcp-protocol-version,a2a-version,x-api-key',
    );
    for (const [body, headers, status] of [
      [CALLS[path], {}, 200],
      ['{', {}, 400],
      [CALLS[path], { 'content-type': 'text/plain' }, 415],
    ] as const) {
      const answer = await post(`/agents${path}`, body, { ...headers, origin: PAGES });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([
        status,
        PAGES,
      ]);
      await answer.text();
    }
  });

  test('refuses pages of other origins, also where they claim the name of this server', async () => {
    const foreign = await post(`/agents${path}`, CALLS[path], {
      origin: 'https://evil.example.com',
    });
    expect(await foreign.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32_000 } });
    expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([
      403,
      null,
    ]);
    // A name that was made to mean this server's address (DNS rebinding): the page's origin is that of the request.
    const asking = request(`${agent.url}/agents${path}`, {
      method: 'POST',
      headers: { ...HEADERS, host: 'evil.example.com', origin: 'http://evil.example.com' },
    });
    const { promise, resolve } = Promise.withResolvers<{
      status: number | undefined;
      body: string;
    }>();
    asking.on('response', (response) => {
      void text(response).then((body) => resolve({ status: response.statusCode, body }));
    });
    asking.end(JSON.stringify(CALLS[path]));
    expect(await promise).toEqual({
      status: 403,
      body: expect.stringContaining('"code":-32000') as string,
    });
  });

  test('is traced, counted and measured like other routes', async () => {
    const traces = (): number => collector.spans.filter(({ name }) => name === 'run steps').length;
    const before = traces();
    await (await post(`/agents${path}`, CALLS[path])).text();
    await until('the run is traced', () => traces() > before);
    const metrics = await (await fetch(`${agent.url}/agents/metrics`)).text();
    const route = `/agents${path.replace('steps', ':assistant_id')}`;
    expect(metrics).toContain(`route="${route}",status="200"`);
    expect(metrics).toMatch(/gx_api_runs_total\{status="success"[^}]*\} [1-9]/);
  });
});

test('the card names the address with the prefix, and is found under it', async () => {
  const card = (await (await fetch(`${agent.url}/agents/a2a/steps`)).json()) as {
    url: string;
    supportedInterfaces: { url: string }[];
  };
  expect(card.url).toMatch(new RegExp(`^${agent.url}/agents/a2a/[0-9a-f-]{36}$`));
  for (const file of ['agent-card.json', 'agent.json']) {
    const found = await fetch(`${agent.url}/agents/.well-known/${file}?assistant_id=steps`, {
      headers: { origin: PAGES },
    });
    expect([await found.json(), found.headers.get('access-control-allow-origin')]).toEqual([
      card,
      PAGES,
    ]);
    expect(await (await fetch(`${agent.url}/agents/a2a/steps/.well-known/${file}`)).json()).toEqual(
      card,
    );
  }
});

describe('what is said of them', () => {
  const told = async (
    http: object,
  ): Promise<{ flags: Record<string, unknown>; paths: string[] }> => {
    const env = { LANGGRAPH_HTTP: JSON.stringify(http) };
    const server = await startAgent({
      database: database.uri,
      config: 'test/agent/a2a/graphs/gx.json',
      env,
    });
    try {
      const { flags } = (await (await fetch(`${server.url}/info`)).json()) as {
        flags: Record<string, unknown>;
      };
      const { paths } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
        paths: object;
      };
      const ours = Object.keys(paths).filter((path) => /^\/(mcp|a2a|\.well-known)/.test(path));
      return {
        flags: { mcp: flags['mcp'], a2a: flags['a2a'] },
        paths: [...new Set(ours.map((path) => path.split('/')[1]!))].toSorted(),
      };
    } finally {
      await server.kill();
    }
  };

  test.each([
    [{}, { mcp: true, a2a: true }, ['.well-known', 'a2a', 'mcp']],
    [{ disable_mcp: true }, { mcp: undefined, a2a: true }, ['.well-known', 'a2a']],
    [{ disable_a2a: true }, { mcp: true, a2a: undefined }, ['mcp']],
  ])('with %j, /info and the OpenAPI document name what is served', async (http, flags, paths) => {
    expect(await told(http)).toEqual({ flags, paths });
  });
});
