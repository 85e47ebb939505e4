import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { startCollector, type Collector } from '../../kit/collector.ts';
import { expectListedMetrics } from '../../kit/metric-names.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* The metrics of an agent server at a port of their own: its runs, streams, crons and spans. */

const PREFIX = '/agents';

let collector: Collector;
let database: TestDatabase;
let agent: AgentProcess;
let metricsUrl: string;

const start = (metricsPort: number): Promise<AgentProcess> =>
  startAgent({
    database: database.uri,
    env: {
      LANGGRAPH_HTTP: JSON.stringify({ mount_prefix: PREFIX }),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      GX_JOB_LEASE_SECS: '6',
      GX_METRICS_PORT: String(metricsPort),
    },
  });

beforeAll(async () => {
  [collector, database] = await Promise.all([startCollector(), freshDatabase()]);
  const port = await freePort();
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  agent = await start(port);
});
afterAll(async () => {
  await agent.kill();
  await collector.stop();
  await database.drop();
});

const scraped = async (): Promise<string> => (await fetch(metricsUrl)).text();
const valueOf = async (name: string, label = ''): Promise<number> => {
  const line = (await scraped())
    .split('\n')
    .find((one) => one.startsWith(`${name}{`) && one.includes(label));
  return Number(line?.split(' ').at(-1));
};

const call = async (path: string, body: unknown, signal?: AbortSignal): Promise<Response> =>
  fetch(`${agent.url}${PREFIX}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
const run = (left: number, pause: number) => ({
  assistant_id: 'steps',
  input: { left, pause },
  config: { recursion_limit: 1000 },
});

test('they are at their own port alone, and nothing else is there', async () => {
  for (const path of ['/metrics', `${PREFIX}/metrics`])
    expect((await fetch(`${agent.url}${path}`)).status).toBe(404);
  for (const path of ['/ok', `${PREFIX}/threads`])
    expect((await fetch(metricsUrl.replace('/metrics', path))).status).toBe(404);
  const answer = await fetch(metricsUrl);
  expect([answer.headers.get('content-type'), await answer.text()]).toEqual([
    expect.stringContaining('text/plain'),
    expect.stringContaining('gx_api_num_pending_runs{'),
  ]);
  expect((await fetch(`${agent.url}/info`)).status).toBe(404);
});

test('they count attempts of runs, open streams and spans, and crons that are late', async () => {
  const leaving = new AbortController();
  const before = await valueOf('gx_api_run_attempts_total', 'attempt="first"');
  const stream = await call('/runs/stream', run(100, 50), leaving.signal);
  expect(stream.status).toBe(200);
  expect(await valueOf('gx_api_open_streams')).toBe(1);
  await expect.poll(() => valueOf('gx_api_run_attempts_total', 'attempt="first"')).toBe(before + 1);
  leaving.abort();
  await expect.poll(() => valueOf('gx_api_open_streams')).toBe(0);
  expect((await call('/runs/wait', run(1, 0))).status).toBe(200);
  await expect.poll(() => valueOf('gx_api_spans_sent_total')).toBeGreaterThan(0);
  expect(await valueOf('gx_api_spans_dropped_total')).toBe(0);
  expect(await valueOf('gx_api_cron_lag_seconds')).toBe(0);
  expectListedMetrics('agent', await scraped(), ['gx_api_log_lines_dropped_total']);
});

test('they count a run whose worker is gone, and its later attempt', async () => {
  const { thread_id } = (await (await call('/threads', {})).json()) as { thread_id: string };
  await call(`/threads/${thread_id}/runs`, run(200, 50));
  await until('it runs', async () => (await valueOf('gx_api_num_running_runs')) === 1);
  const state = async (): Promise<{ next: string[] }> =>
    (await fetch(`${agent.url}${PREFIX}/threads/${thread_id}/state`)).json() as Promise<{
      next: string[];
    }>;
  await until('it has stored a step', async () => (await state()).next.length > 0);
  await agent.kill('SIGKILL');
  agent = await start(Number(new URL(metricsUrl).port));
  await expect
    .poll(() => valueOf('gx_api_runs_lost_total', 'outcome="continued"'), { timeout: 30_000 })
    .toBe(1);
  await expect.poll(() => valueOf('gx_api_run_attempts_total', 'attempt="later"')).toBe(1);
});
