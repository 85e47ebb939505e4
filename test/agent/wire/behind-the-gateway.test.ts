import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { openDoor } from '../../../src/gateway/door.ts';
import { HeldRequests } from '../../../src/gateway/held-requests.ts';
import { Reports } from '../../../src/gateway/reports.ts';
import { buildWorkRoutes } from '../../../src/gateway/work-routes.ts';
import { TenantWords } from '../../../src/gateway/tenant-words.ts';
import { isNeverTrusted } from '../../../src/http/callers/client.ts';
import { listen } from '../../../src/http/server/listen.ts';
import { createApp } from '../../../src/http/server/server.ts';
import {
  createClientSigner,
  SIGNATURE_HEADER,
  type ClientSigner,
} from '../../../src/http/callers/signed-client.ts';
import { buildWorkPath } from '../../../src/schema/wire/work-report.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { KEY_OF_KNOWN, knownDeployment } from '../../kit/known-deployment.ts';
import { silentLog } from '../../kit/log.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { buildStandIn } from '../../kit/stand-in.ts';
import type { WakingCallers } from '../../../src/gateway/waking-callers.ts';
import { until } from '../../kit/until.ts';

/*
 * An agent without any setting about proxies, behind the doors of two processes of the gateway. Both keys are told in
 * the answers to its reports. Clients have addresses of this machine.
 */

const chat = knownDeployment({ asleepSince: undefined, isOpen: true });

const signers = [createClientSigner(), createClientSigner()] as const;
let told: string[] = signers.map(({ key }) => key);
let reports: { port: number; stop: (grace: number) => Promise<unknown> };
let folder: string;
let database: TestDatabase;
let agent: AgentProcess;
const doors: Server[] = [];

async function reportsServer(): Promise<typeof reports> {
  const routes = buildWorkRoutes({
    known: buildStandIn({ get: () => chat }),
    reports: new Reports('one'),
    gatewayKeys: () => told,
    tenantWords: new TenantWords(),
    isReady: () => true,
  });
  const body = { bytes: 4096, selectionBytes: 4096, values: 100, listItems: 10 };
  const app = createApp({
    routes,
    log: silentLog(),
    invalid: 'sentence',
    authenticate: () => undefined,
    body,
  });
  return listen(app, { host: '127.0.0.1', port: 0 });
}

/** Opens the door of a process with this key in front of the agent, and returns its address. */
async function doorOf(signer: ClientSigner, deployment = chat): Promise<string> {
  const answering = () =>
    Promise.resolve({ host: '127.0.0.1', port: Number(new URL(agent.url).port) });
  const held = new HeldRequests({ perDeployment: 10, total: 10 });
  const callers = buildStandIn<WakingCallers>({ admit: () => Promise.resolve() });
  const server = openDoor({
    find: () => deployment,
    callers,
    waking: buildStandIn({ waitForPlace: answering }),
    held,
    trusts: isNeverTrusted,
    signer,
    log: silentLog(),
  });
  doors.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gx-key-'));
  await writeFile(path.join(folder, 'api-key'), KEY_OF_KNOWN);
  [reports, database] = await Promise.all([reportsServer(), freshDatabase()]);
  const url = `http://127.0.0.1:${reports.port}${buildWorkPath('team', 'chat')}`;
  const env = {
    GX_STREAMS_PER_CALLER: '1',
    GX_LOG_LEVEL: 'error',
    GX_REPORT_URL: url,
    GX_REPORT_KEY_FOLDER: folder,
    N_JOBS_PER_WORKER: '0',
  };
  agent = await startAgent({ database: database.uri, env });
  const door = await doorOf(signers[0]);
  // The agent knows the keys once its first report is answered.
  await until('the agent believes the gateway', async () =>
    (await cardAt(door, '127.0.0.9')).startsWith(door),
  );
});
afterAll(async () => {
  for (const server of doors) {
    server.closeAllConnections();
    server.close();
  }
  await agent.kill();
  await reports.stop(0);
  await database.drop();
  await rm(folder, { recursive: true });
});

type Opened = { status: number; leave: () => void };

/** Opens a stream of a new thread from that address, and returns its status. It stays open until it is left. */
async function opened(
  at: string,
  localAddress: string,
  headers: IncomingHttpHeaders = {},
): Promise<Opened> {
  const { thread_id } = await agent.client.threads.create();
  const asked = request(`${at}/threads/${thread_id}/stream`, {
    localAddress,
    headers,
    agent: false,
  }).end();
  asked.on('error', () => undefined);
  const [answer] = (await once(asked, 'response')) as [{ statusCode: number }];
  return { status: answer.statusCode, leave: () => asked.destroy() };
}

/** Opens streams one after the other, and leaves them all. Returns their statuses. */
async function statuses(...asked: Parameters<typeof opened>[]): Promise<number[]> {
  const all: Opened[] = [];
  for (const one of asked) all.push(await opened(...one));
  for (const { leave } of all) leave();
  return all.map(({ status }) => status);
}

/** Returns the address of the agent that its card tells to a client of that address. */
async function cardAt(
  at: string,
  localAddress: string,
  headers: IncomingHttpHeaders = {},
): Promise<string> {
  const [assistant] = await agent.client.assistants.search({ graphId: 'steps' });
  const url = `${at}/.well-known/agent-card.json?assistant_id=${assistant!.assistant_id}`;
  const asked = request(url, { localAddress, headers, agent: false }).end();
  const [answer] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
  let text = '';
  for await (const chunk of answer) text += chunk.toString();
  return (JSON.parse(text) as { supportedInterfaces: { url: string }[] }).supportedInterfaces[0]!
    .url;
}

describe('clients behind the gateway', () => {
  test('have limits of their own, by the doors of each of its processes', async () => {
    const [first, second] = [await doorOf(signers[0]), await doorOf(signers[1])];
    expect(
      await statuses(
        [first, '127.0.0.2'],
        [first, '127.0.0.3'],
        [second, '127.0.0.4'],
        [second, '127.0.0.2'],
      ),
    ).toEqual([200, 200, 200, 429]);
  });

  test('have them for WebSockets, too', async () => {
    const door = (await doorOf(signers[0])).replace('http', 'ws');
    const { thread_id } = await agent.client.threads.create();
    const connect = (localAddress: string): WebSocket =>
      new WebSocket(`${door}/threads/${thread_id}/stream/events`, { localAddress });
    const first = connect('127.0.0.5');
    await once(first, 'open');
    const [code] = (await once(connect('127.0.0.5'), 'close')) as [number];
    const other = connect('127.0.0.6');
    await once(other, 'open');
    expect([code, other.readyState]).toEqual([4429, WebSocket.OPEN]);
    first.terminate();
    other.terminate();
  });

  test('change nothing by headers that they write, nor by a signature that they have seen', async () => {
    const door = await doorOf(signers[0]);
    const forged = (address: string) => ({
      'x-forwarded-for': address,
      [SIGNATURE_HEADER]: '1.x.y',
      'x-forwarded-host': 'evil.example',
    });
    expect(
      await statuses(
        [door, '127.0.0.2', forged('203.0.113.1')],
        [door, '127.0.0.2', forged('203.0.113.2')],
      ),
    ).toEqual([200, 429]);
    expect(await cardAt(door, '127.0.0.2', forged('203.0.113.3'))).toMatch(
      new RegExp(`^${door}/a2a/`),
    );
  });
});

describe('nobody else is believed', () => {
  test('with the headers of a gateway, with and without a signature', async () => {
    const stranger = createClientSigner();
    const headers = (client: string): IncomingHttpHeaders => ({
      'x-forwarded-for': client,
      'x-forwarded-host': 'evil.example',
    });
    const signed = (client: string): IncomingHttpHeaders => {
      const at = Math.floor(Date.now() / 1000);
      const url = '/.well-known/agent-card.json';
      return {
        ...headers(client),
        [SIGNATURE_HEADER]: stranger.sign(
          { method: 'GET', url, headers: headers(client) },
          { of: 'x', at },
        ),
      };
    };
    expect(
      await statuses(
        [agent.url, '127.0.0.2', headers('203.0.113.1')],
        [agent.url, '127.0.0.2', signed('203.0.113.2')],
      ),
    ).toEqual([200, 429]);
    expect(await cardAt(agent.url, '127.0.0.2', signed('203.0.113.1'))).toMatch(
      new RegExp(`^${agent.url}/a2a/`),
    );
  });

  test('who has a key of its own, or passes on what was signed for another deployment', async () => {
    for (const door of [
      await doorOf(createClientSigner()),
      await doorOf(signers[0], { ...chat, name: 'other' }),
    ])
      expect(await statuses([door, '127.0.0.2'], [door, '127.0.0.3'])).toEqual([200, 429]);
  });

  test('who was a process of the gateway, once the others no longer name it', async () => {
    const door = await doorOf(signers[1]);
    told = [signers[0].key];
    // A run makes the agent report soon.
    await agent.client.runs.create(null, 'steps', { input: { left: 1 } });
    await until(
      'the key is forgotten',
      async () => (await statuses([door, '127.0.0.2'], [door, '127.0.0.3']))[1] === 429,
    );
    expect(
      await statuses(
        [await doorOf(signers[0]), '127.0.0.2'],
        [await doorOf(signers[0]), '127.0.0.3'],
      ),
    ).toEqual([200, 200]);
  });
});
