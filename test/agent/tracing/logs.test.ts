import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { startCollector, type Collector } from '../../kit/collector.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* Lines of an agent server's log, as they arrive at a collector. */

let collector: Collector;
let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  [collector, database] = await Promise.all([startCollector(), freshDatabase()]);
  // The first batch is refused for a moment, and comes again.
  collector.answers.push(503);
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/graph-log/graphs/gx.json',
    env: {
      SELF_HOSTED_LOGS_ENABLED: 'true',
      SELF_HOSTED_LOGS_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20canary',
      OTEL_BLRP_SCHEDULE_DELAY: '20',
      GX_DEPLOYMENT: 'chat',
      GX_REVISION: 'chat-00001',
    },
  });
});
afterAll(async () => {
  await collector.stop();
  await database.drop();
});

test('lines of the server and of its graphs arrive beside the trace of their run, and the last ones before it ends', async () => {
  const { thread_id } = await agent.client.threads.create();
  const { run_id } = await agent.client.runs.create(thread_id, 'logs', { input: { name: 'ada' } });
  await agent.client.runs.join(thread_id, run_id);
  const ready = await until('the first batch came again', () =>
    collector.lines.find(({ body }) => body.stringValue === 'agent server ready'),
  );
  expect(ready).toMatchObject({
    severityText: 'INFO',
    severityNumber: 9,
    resource: { 'service.name': 'chat' },
  });
  expect(collector.requests[0]).toMatchObject({
    path: '/v1/logs',
    headers: { authorization: 'Bearer canary' },
  });
  const said = await until('the line of the graph arrives', () =>
    collector.lines.find(({ body }) => body.stringValue === 'hello ada'),
  );
  expect(said).toMatchObject({
    traceId: run_id.replaceAll('-', ''),
    attributes: { run_id, node: 'greet', source: 'graph' },
  });
  expect(said.attributes['data']).toContain('[redacted]');
  const failed = await until('the error arrives', () =>
    collector.lines.find(({ body }) => body.stringValue === 'later ada'),
  );
  expect(failed).toMatchObject({
    severityText: 'ERROR',
    attributes: { 'exception.message': 'broken' },
  });
  const lines = agent
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, string>);
  for (const line of lines)
    expect(line).toMatchObject({ deployment: 'chat', revision: 'chat-00001' });
  const ofRun = lines.filter((line) => line['run_id'] !== undefined);
  for (const message of ['run started', 'hello ada', 'run ended'])
    expect(ofRun.map(({ msg }) => msg)).toContain(message);
  const ids = {
    run_id,
    thread_id,
    request_id: expect.any(String) as string,
    trace_id: run_id.replaceAll('-', ''),
  };
  for (const line of ofRun) expect(line).toMatchObject(ids);
  const metrics = await (await fetch(`${agent.url}/metrics`)).text();
  expect(metrics).toMatch(/^gx_api_log_lines_sent_total\{.*\} [1-9]\d*$/m);
  expect(metrics).toMatch(/^gx_api_log_lines_dropped_total\{.*\} 0$/m);
  expect(await agent.kill()).toBe(0);
  expect(collector.lines.map(({ body }) => body.stringValue)).toContain('agent server stopping');
});
