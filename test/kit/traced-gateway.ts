import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readGatewayConfig } from '../../src/config/platform/gateway.ts';
import { openDoor } from '../../src/gateway/door.ts';
import { HeldRequests } from '../../src/gateway/held-requests.ts';
import { WakingCallers } from '../../src/gateway/waking-callers.ts';
import { buildTrusts } from '../../src/http/callers/client.ts';
import { createClientSigner } from '../../src/http/callers/signed-client.ts';
import { buildSpanStarter } from '../../src/tracing/request-spans.ts';
import { openTracing } from '../../src/tracing/open.ts';
import { startAgent } from './agent-server.ts';
import { KEY_OF_KNOWN, knownDeployment } from './known-deployment.ts';
import { silentLog } from './log.ts';
import { buildStandIn } from './stand-in.ts';
import { freshDatabase } from './postgres.ts';

/* An agent behind a gateway, which both send their spans to one collector. */

const chat = knownDeployment();

/** A span, as any collector shows it. */
type ShownSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  service: string;
};

export type TracedGateway = {
  /** Has the agent answer a run through the gateway, with a graph that asks a model and calls a tool. */
  run(): Promise<void>;
  stop(): Promise<void>;
};

/** Starts both, with these settings of OpenTelemetry. */
export async function startTracedGateway(settings: Record<string, string>): Promise<TracedGateway> {
  const env = { ...settings, OTEL_BSP_SCHEDULE_DELAY: '20' };
  const database = await freshDatabase();
  const agent = await startAgent({
    database: database.uri,
    config: 'test/agent/tracing/graphs/gx.json',
    env: { ...env, GX_DEPLOYMENT: 'chat' },
  });
  const log = silentLog();
  const tracing = (await openTracing(readGatewayConfig(env).tracing, { name: 'gx-gateway', log }))!;
  const place = { host: '127.0.0.1', port: Number(new URL(agent.url).port) };
  const door = openDoor({
    find: () => chat,
    callers: new WakingCallers({ controlPlaneUrl: undefined, issuerHosts: [], log }),
    waking: buildStandIn({ waitForPlace: () => Promise.resolve(place) }),
    held: new HeldRequests({ perDeployment: 10, total: 10 }),
    trusts: buildTrusts([]),
    signer: createClientSigner(),
    begins: buildSpanStarter(tracing, { roots: true }),
    log,
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
  const url = `http://127.0.0.1:${(door.address() as AddressInfo).port}/runs/wait`;
  return {
    run: async () => {
      const body = JSON.stringify({
        assistant_id: 'thinks',
        input: { messages: [{ role: 'human', content: 'hello' }] },
      });
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': KEY_OF_KNOWN },
        body,
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`the gateway answers ${answer.status}: ${text}`);
    },
    stop: async () => {
      door.closeAllConnections();
      door.close();
      await agent.kill();
      await tracing.close();
      await database.drop();
    },
  };
}

/** The spans of a run through the gateway, each with the one above it: from the route to the call of the tool. */
export const SPANS_OF_RUN = [
  'chat: POST /runs/wait < POST through the gateway',
  'chat: model FakeListChatModel < node ask',
  'chat: node ask < run thinks',
  'chat: node research < run thinks',
  'chat: node search < node research',
  'chat: run thinks < POST /runs/wait',
  'chat: tool look < node search',
  'gx-gateway: POST through the gateway < ',
];

/** Returns each trace among the spans, in the form of `SPANS_OF_RUN`. */
export function tracesIn(spans: readonly ShownSpan[]): string[][] {
  const nameOf = (id = ''): string => spans.find(({ spanId }) => spanId === id)?.name ?? '';
  const shown = ({ service, name, parentSpanId }: ShownSpan): string =>
    `${service}: ${name} < ${nameOf(parentSpanId)}`;
  return [...Map.groupBy(spans, ({ traceId }) => traceId).values()].map((some) =>
    some.map(shown).toSorted(),
  );
}
