import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { linesOf } from '../../kit/lines.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* What gx.json and the environment change about the server itself. */

let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(() => database.drop());

describe('with routes switched off and a prefix before the others', () => {
  let agent: AgentProcess;
  beforeAll(async () => {
    agent = await startAgent({
      database: database.uri,
      config: 'test/agent/wire/settings/gx.json',
    });
  });
  afterAll(() => agent.kill());

  const status = async (path: string, body?: object): Promise<number> =>
    (
      await fetch(
        `${agent.url}${path}`,
        body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) },
      )
    ).status;

  test('probes find /ok at the root and below the prefix, clients the rest below it only', async () => {
    expect([await status('/ok'), await status('/agents/ok')]).toEqual([200, 200]);
    expect([await status('/agents/threads', {}), await status('/threads', {})]).toEqual([200, 404]);
  });

  test('what is switched off is not there', async () => {
    expect(await status('/agents/assistants/search', {})).toBe(404);
    expect(await status('/agents/store/namespaces', {})).toBe(404);
    for (const path of ['/agents/info', '/agents/metrics', '/agents/docs', '/agents/openapi.json'])
      expect(await status(path)).toBe(404);
  });

  test('a graph is run by its name without the routes of assistants, and feedback is asked for below the prefix', async () => {
    const body = { assistant_id: 'steps', input: { left: 1 }, feedback_keys: ['score'] };
    const answer = await fetch(`${agent.url}/agents/runs/wait`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    const { left, __feedback__ } = (await answer.json()) as {
      left: number;
      __feedback__: { score: string };
    };
    expect(left).toBe(0);
    expect(__feedback__.score.startsWith(`${agent.url}/agents/feedback/tokens/`)).toBe(true);
    expect((await fetch(`${__feedback__.score}?score=1`)).status).toBe(204);
  });

  test('the log shows the headers of a request that gx.json names, and no credential', async () => {
    const headers = {
      'x-trace-id': 'seen-1',
      'x-trace-secret': 'hidden-2',
      authorization: 'Bearer hidden-3',
      'x-other': 'hidden-4',
    };
    expect(
      (await fetch(`${agent.url}/agents/threads`, { method: 'POST', body: '{}', headers })).status,
    ).toBe(200);
    const line = await until('the request is in the log', () =>
      agent
        .output()
        .split('\n')
        .find((one) => one.includes('seen-1')),
    );
    expect(JSON.parse(line)).toMatchObject({
      level: 'info',
      path: '/agents/threads',
      status: 200,
      headers: { 'x-trace-id': 'seen-1' },
    });
    expect(agent.output()).not.toContain('hidden-');
  });

  test('pages may send the headers that are listed, and the key by which a request is known again', async () => {
    const asked = {
      origin: 'https://app.example.com',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-other',
    };
    const { headers } = await fetch(`${agent.url}/agents/runs`, {
      method: 'OPTIONS',
      headers: asked,
    });
    expect(headers.get('access-control-allow-headers')).toBe('x-trace-id, idempotency-key');
  });

  test('pages of the listed origin may call with credentials, and no others', async () => {
    const origin = async (name: string): Promise<Headers> =>
      (
        await fetch(`${agent.url}/agents/threads`, {
          method: 'POST',
          body: '{}',
          headers: { origin: name },
        })
      ).headers;
    const listed = await origin('https://app.example.com');
    expect(listed.get('access-control-allow-origin')).toBe('https://app.example.com');
    expect(listed.get('access-control-allow-credentials')).toBe('true');
    expect(listed.get('access-control-expose-headers')).toContain('content-location');
    expect(
      (await origin('https://other.example.com')).get('access-control-allow-origin'),
    ).toBeNull();
  });
});

test('a server that logs errors alone prints nothing when it is ready', async () => {
  const agent = await startAgent({ database: database.uri, env: { LOG_LEVEL: 'ERROR' } });
  await agent.client.runs.wait(null, 'steps', { input: { left: 1 } });
  await agent.kill();
  expect(agent.output()).toBe('');
});

describe('with a second for each run', () => {
  let agent: AgentProcess;
  beforeAll(async () => {
    agent = await startAgent({ database: database.uri, env: { GX_JOB_TIMEOUT_SECS: '1' } });
  });
  afterAll(() => agent.kill());

  test('one that takes longer ends as an error, by which it is found; no run has the status timeout', async () => {
    const { runs, threads } = agent.client;
    const { thread_id } = await threads.create();
    const { run_id } = await runs.create(thread_id, 'steps', { input: { left: 20, pause: 500 } });
    await expect(runs.join(thread_id, run_id)).resolves.toMatchObject({
      __error__: { message: expect.stringContaining('1 s') },
    });
    const found = async (status: 'error' | 'timeout'): Promise<string[]> =>
      (await runs.list(thread_id, { status })).map((run) => `${run.run_id} ${run.status}`);
    expect([await found('error'), await found('timeout')]).toEqual([[`${run_id} error`], []]);
    const document = (await (await fetch(`${agent.url}/openapi.json`)).json()) as {
      paths: Record<string, { get: { responses: Record<string, object> } }>;
    };
    const answer = JSON.stringify(
      document.paths['/threads/{thread_id}/runs/{run_id}']!.get.responses['200'],
    );
    expect(answer).toContain('"interrupted"');
    expect(answer).not.toContain('timeout');
  });
});

describe('with the environment of a deployment', () => {
  let agent: AgentProcess;
  beforeAll(async () => {
    const env = {
      GX_DEPLOYMENT: 'helper',
      GX_REVISION: 'helper-00002',
      CORS_ALLOW_ORIGINS: 'https://a.example.com, https://b.example.com',
      ALLOW_PRIVATE_NETWORK: 'true',
      MAX_STREAM_CHUNK_SIZE_BYTES: '2048',
      LANGGRAPH_API_URL: 'https://helper.example.com/',
    };
    agent = await startAgent({ database: database.uri, env });
  });
  afterAll(() => agent.kill());

  test('figures and facts carry its names, runs are counted by their end', async () => {
    const { thread_id } = await agent.client.threads.create();
    await agent.client.runs.wait(thread_id, 'steps', { input: { left: 1 } });
    const text = await until('the queue is counted', async () => {
      const found = await (await fetch(`${agent.url}/metrics`)).text();
      return /num_pending_runs\{.*\} \d/.test(found) && found;
    });
    expect(text).toMatch(
      /^gx_api_runs_total\{status="success",deployment="helper",revision="helper-00002"\} 1$/m,
    );
    expect(text).toMatch(
      /^lg_api_num_pending_runs\{project_id="helper",revision_id="helper-00002",.*\} 0$/m,
    );
    expect(text).toMatch(/^gx_api_http_request_seconds_count\{.*route="\/threads".*\} 1$/m);
    const info = await (await fetch(`${agent.url}/info`)).json();
    expect(info).toMatchObject({ host: { project_id: 'helper', revision_id: 'helper-00002' } });
  });

  test('a message over the limit is left out of streams, and the result is whole', async () => {
    const { thread_id } = await agent.client.threads.create();
    const input = { messages: [{ role: 'human', content: 'x'.repeat(4096) }] };
    const events = await Array.fromAsync(
      agent.client.runs.stream(thread_id, 'chat', { input, streamMode: ['values', 'tasks'] }),
    );
    expect(events.map(({ event }) => event)).not.toContain('values');
    expect(events.map(({ event }) => event)).toContain('metadata');
    const { messages } = (
      await agent.client.threads.getState<{ messages: { content: string }[] }>(thread_id)
    ).values;
    expect(messages[0]?.content).toHaveLength(4096);
    const [run] = await agent.client.runs.list(thread_id);
    expect(run?.status).toBe('success');
    const about = await until('the log tells it', async () =>
      linesOf(agent.output()).find(
        ({ msg }) => msg === 'message is too large for streams and is left out',
      ),
    );
    const ids = { run_id: run?.run_id, thread_id, trace_id: run?.run_id.replaceAll('-', '') };
    expect(about).toMatchObject({
      ...ids,
      request_id: expect.any(String) as string,
      deployment: 'helper',
      revision: 'helper-00002',
    });
  });

  test('a page of a public site may call it in a private network', async () => {
    const asked = {
      'access-control-request-method': 'POST',
      'access-control-request-private-network': 'true',
    };
    const { headers } = await fetch(`${agent.url}/runs`, {
      method: 'OPTIONS',
      headers: { origin: 'https://a.example.com', ...asked },
    });
    expect(headers.get('access-control-allow-private-network')).toBe('true');
  });

  test('requests are counted by route, in the figures as JSON too', async () => {
    await fetch(`${agent.url}/threads/no-id`);
    const { http } = (await (await fetch(`${agent.url}/metrics?format=json`)).json()) as {
      http: { requests: object[] };
    };
    expect(http.requests).toContainEqual({
      method: 'GET',
      route: '/threads/:thread_id',
      status: '422',
      count: 1,
    });
  });

  test('origins and the public address are taken from it', async () => {
    const body = JSON.stringify({
      assistant_id: 'steps',
      input: { left: 1 },
      feedback_keys: ['score'],
    });
    const answer = await fetch(`${agent.url}/runs/wait`, {
      method: 'POST',
      body,
      headers: { origin: 'https://b.example.com' },
    });
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://b.example.com');
    expect(await answer.json()).toMatchObject({
      __feedback__: {
        score: expect.stringMatching(/^https:\/\/helper\.example\.com\/feedback\//) as string,
      },
    });
  });
});

test('items that were stored before there was an index are found by meaning after the next start', async () => {
  const before = await startAgent({ database: database.uri });
  await before.client.store.putItem(['paint'], 'old', { text: 'blue' });
  await before.kill();
  const agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/contract/graphs/gx.json',
  });
  try {
    const found = async (): Promise<string[]> =>
      (await agent.client.store.searchItems(['paint'], { query: 'blue' })).items.map(
        ({ key }) => key,
      );
    await until('the item is indexed', async () => (await found()).length > 0, 30);
    expect(await found()).toEqual(['old']);
  } finally {
    await agent.kill();
  }
});
