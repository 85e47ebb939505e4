import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gatewayConfig } from '../../src/config/gateway.ts';
import { openDoor } from '../../src/gateway/door.ts';
import { HeldRequests } from '../../src/gateway/held-requests.ts';
import type { KnownDeployment } from '../../src/gateway/known-deployments.ts';
import { WakingCallers } from '../../src/gateway/waking-callers.ts';
import { trusting } from '../../src/http/client.ts';
import { newClientSigner } from '../../src/http/signed-client.ts';
import { requestSpans } from '../../src/tracing/request-spans.ts';
import { openTracing } from '../../src/tracing/open.ts';
import type { Tracing } from '../../src/tracing/spans.ts';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { silentLog } from '../kit/log.ts';
import { startOtelCollector, type OtelCollector, type WrittenSpan } from '../kit/otel-collector.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';

/* A request that comes through the gateway, as a real OpenTelemetry collector gets it from all processes. */

const BUILD = 1_200_000;
const KEY = 'gxa_the-key-of-this-deployment';
const chat: KnownDeployment = {
  key: 'team/chat',
  namespace: 'team',
  name: 'chat',
  uid: 'u',
  id: 'u',
  port: 1,
  asleepSince: 'now',
  isOpen: false,
  auth: undefined,
  isOpenedBy: (shown) => shown === KEY,
};

let collector: OtelCollector;
let database: TestDatabase;
let agent: AgentProcess;
let tracing: Tracing;
let door: Server;

beforeAll(async () => {
  [collector, database] = await Promise.all([startOtelCollector(), freshDatabase()]);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '20' };
  agent = await startAgent({ database: database.uri, config: 'test/agent/tracing/graphs/gx.json', env: { ...env, GX_DEPLOYMENT: 'chat' } });
  const log = silentLog();
  tracing = (await openTracing(gatewayConfig(env).tracing, { name: 'gx-gateway', log }))!;
  const place = { host: '127.0.0.1', port: Number(new URL(agent.url).port) };
  door = openDoor({
    find: () => chat,
    callers: new WakingCallers({ controlPlaneUrl: undefined, issuerHosts: [], log }),
    waking: { answering: () => Promise.resolve(place) },
    held: new HeldRequests({ perDeployment: 10, total: 10 }),
    trusts: trusting([]),
    signer: newClientSigner(),
    begins: requestSpans(tracing, { roots: true }),
    log,
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
}, BUILD);
afterAll(async () => {
  door.closeAllConnections();
  door.close();
  await agent.kill();
  await tracing.close();
  await collector.stop();
  await database.drop();
});

test('the gateway, the agent and the tool that the graph calls are one trace, as protobuf in gzip', async () => {
  const url = `http://127.0.0.1:${(door.address() as AddressInfo).port}/runs/wait`;
  const body = JSON.stringify({ assistant_id: 'thinks', input: { messages: [{ role: 'human', content: 'hello' }] } });
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', 'x-api-key': KEY }, body });
  expect(answer.status).toBe(200);
  await answer.text();
  const spans = await until('all spans are there', async () => {
    const found = await collector.spans();
    return found.length >= 8 && found;
  });
  const nameOf = (id: string): string => spans.find(({ spanId }) => spanId === id)?.name ?? '';
  const shown = ({ service, name, parentSpanId }: WrittenSpan): string => `${service}: ${name} < ${nameOf(parentSpanId)}`;
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(spans.map(shown).toSorted()).toEqual([
    'chat: POST /runs/wait < POST through the gateway',
    'chat: model FakeListChatModel < node ask',
    'chat: node ask < run thinks',
    'chat: node research < run thinks',
    'chat: node search < node research',
    'chat: run thinks < POST /runs/wait',
    'chat: tool look < node search',
    'gx-gateway: POST through the gateway < ',
  ]);
});
