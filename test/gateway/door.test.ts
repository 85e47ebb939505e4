import { once } from 'node:events';
import { createServer, request, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { openDoor } from '../../src/gateway/door.ts';
import { HeldRequests } from '../../src/gateway/held-requests.ts';
import type { KnownDeployment } from '../../src/gateway/known-deployments.ts';
import type { AgentPlace } from '../../src/gateway/waking.ts';
import { WakingCallers } from '../../src/gateway/waking-callers.ts';
import { buildTrusts } from '../../src/http/callers/client.ts';
import { createClientSigner } from '../../src/http/callers/signed-client.ts';
import { KEY_OF_KNOWN, knownDeployment } from '../kit/known-deployment.ts';
import { silentLog } from '../kit/log.ts';
import { buildStandIn } from '../kit/stand-in.ts';
import { until } from '../kit/until.ts';

/*
 * The gateway answers in place of a deployment that sleeps. The deployment is a double that begins to answer when a
 * test says so.
 */

const chat = knownDeployment();

let agent: Server;
let place: AgentPlace;
const sockets = new WebSocketServer({ noServer: true });

beforeAll(async () => {
  agent = createServer((incoming, answer) => {
    const answered = async (): Promise<void> => {
      if (incoming.url === '/headers') {
        answer
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify(forwardedIn(incoming.headers)));
        return;
      }
      if (incoming.url === '/stream') {
        answer.writeHead(200, { 'content-type': 'text/event-stream' });
        answer.write('data: 1\n\n');
        setTimeout(() => answer.end('data: 2\n\n'), 50);
        return;
      }
      const body = await text(incoming);
      answer.writeHead(201, { 'content-type': 'application/json', 'x-own': 'yes' });
      answer.end(
        JSON.stringify({
          method: incoming.method,
          url: incoming.url,
          key: incoming.headers['x-api-key'],
          body,
        }),
      );
    };
    void answered();
  }).listen(0, '127.0.0.1');
  agent.on('upgrade', (incoming, socket, head) =>
    sockets.handleUpgrade(incoming, socket, head, (client) =>
      client.on('message', (data: Buffer) =>
        client.send(`heard ${data.toString()} ${JSON.stringify(forwardedIn(incoming.headers))}`),
      ),
    ),
  );
  await once(agent, 'listening');
  place = { host: '127.0.0.1', port: (agent.address() as AddressInfo).port };
});
afterAll(() => {
  agent.closeAllConnections();
  agent.close();
});

const forwardedIn = (headers: IncomingHttpHeaders): object =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-forwarded-')));

type Door = {
  url: string;
  held: HeldRequests;
  asked: () => number;
  answers: (at: AgentPlace) => void;
  fails: (error: Error) => void;
};
const opened: Server[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Requests of these tests come from a proxy, if that is trusted. */
let trusts = buildTrusts([]);
afterEach(() => void (trusts = buildTrusts([])));

async function door(
  limits = { perDeployment: 10, total: 20 },
  deployment = chat,
  held = new HeldRequests(limits),
): Promise<Door> {
  const { promise, resolve, reject } = Promise.withResolvers<AgentPlace>();
  promise.catch(() => undefined);
  let asked = 0;
  const answering = (): Promise<AgentPlace> => {
    asked += 1;
    return promise;
  };
  const callers = new WakingCallers({
    controlPlaneUrl: undefined,
    issuerHosts: [],
    log: silentLog(),
  });
  const server = openDoor({
    find: () => deployment,
    callers,
    waking: buildStandIn({ waitForPlace: answering }),
    held,
    trusts,
    signer: createClientSigner(),
    log: silentLog(),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push(server);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held,
    asked: () => asked,
    answers: resolve,
    fails: reject,
  };
}

const WITH_KEY = { 'x-api-key': KEY_OF_KNOWN };

describe('a request', () => {
  test('is held until the deployment answers, and passed on with its body', async () => {
    const { url, held, answers } = await door();
    const answer = fetch(`${url}/threads?x=1`, {
      method: 'POST',
      headers: { ...WITH_KEY, 'content-type': 'application/json' },
      body: '{"a":1}',
    });
    await until('it is held', () => held.count === 1);
    answers(place);
    const got = await answer;
    expect([got.status, got.headers.get('x-own'), await got.json()]).toEqual([
      201,
      'yes',
      { method: 'POST', url: '/threads?x=1', key: KEY_OF_KNOWN, body: '{"a":1}' },
    ]);
    expect(held.count).toBe(0);
  });

  test('for a stream gets its events', async () => {
    const { url, answers } = await door();
    answers(place);
    const got = await fetch(`${url}/stream`, {
      headers: { authorization: `Bearer ${KEY_OF_KNOWN}` },
    });
    expect(await got.text()).toBe('data: 1\n\ndata: 2\n\n');
  });

  test('for a WebSocket is passed on', async () => {
    const { url, answers } = await door();
    answers(place);
    const client = new WebSocket(url.replace('http', 'ws'), { headers: WITH_KEY });
    await once(client, 'open');
    client.send('hello');
    const [data] = (await once(client, 'message')) as [Buffer];
    expect(data.toString()).toMatch(/^heard hello /);
    client.terminate();
  });

  const SAID = {
    ...WITH_KEY,
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'chat.example.com',
  };

  async function told(): Promise<{ heard: object[]; host: string }> {
    const { url, answers } = await door();
    answers(place);
    const asked = (await (await fetch(`${url}/headers`, { headers: SAID })).json()) as object;
    const client = new WebSocket(url.replace('http', 'ws'), { headers: SAID });
    await once(client, 'open');
    client.send('you');
    const [data] = (await once(client, 'message')) as [Buffer];
    client.terminate();
    return {
      heard: [asked, JSON.parse(data.toString().slice('heard you '.length)) as object],
      host: new URL(url).host,
    };
  }

  test('from a trusted proxy is passed on with what the proxy says about its client', async () => {
    trusts = buildTrusts(['127.0.0.1']);
    const said = {
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'chat.example.com',
    };
    expect((await told()).heard).toEqual([said, said]);
  });

  test('from anybody else is passed on with what the gateway sees, and nothing that was made up', async () => {
    const { heard, host } = await told();
    const seen = {
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': host,
    };
    expect(heard).toEqual([seen, seen]);
  });

  test('that no pod takes yet is sent again', async () => {
    const { url, answers } = await door();
    const { port } = agent.address() as AddressInfo;
    // Nobody listens at this port; the connection is refused before anything is sent.
    answers({ host: '127.0.0.1', port: 9 });
    const got = await fetch(`${url}/threads`, { headers: WITH_KEY });
    expect([got.status, got.headers.get('retry-after'), port > 0]).toEqual([503, '5', true]);
  });
});

describe('nobody is woken by', () => {
  test.each<[string, IncomingHttpHeaders]>([
    ['a request without a key', {}],
    ['a wrong key', { 'x-api-key': 'gxa_another' }],
    ['a wrong bearer token', { authorization: 'Bearer gxa_another' }],
  ])('%s, which gets a 401', async (_, headers) => {
    const { url, asked } = await door();
    const got = await fetch(`${url}/threads`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: '{}',
    });
    expect([got.status, Object.keys((await got.json()) as object), asked()]).toEqual([
      401,
      ['detail'],
      0,
    ]);
  });

  test('a pass, though the deployment is open to all: who has one only looks', async () => {
    for (const isOpen of [false, true]) {
      const { url, asked } = await door(undefined, { ...chat, isOpen });
      const got = await fetch(`${url}/threads`, { headers: { authorization: 'Bearer gxp_any' } });
      expect([got.status, await got.json(), asked()]).toEqual([
        409,
        { detail: 'The deployment sleeps, and a pass does not wake it.' },
        0,
      ]);
    }
  });

  test('a WebSocket without a key', async () => {
    const { url, asked } = await door();
    const client = new WebSocket(url.replace('http', 'ws'));
    const [, answer] = (await once(client, 'unexpected-response')) as [
      unknown,
      { statusCode: number },
    ];
    expect([answer.statusCode, asked()]).toEqual([401, 0]);
    client.on('error', () => undefined);
    client.terminate();
  });

  test('a monitor, or a browser that asks whether it may ask', async () => {
    const { url, asked } = await door();
    const monitored = await fetch(`${url}/ok`);
    expect([monitored.status, await monitored.json()]).toEqual([200, { ok: true, asleep: true }]);
    const preflight = request(`${url}/threads`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://page.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-api-key',
      },
    }).end();
    const [got] = (await once(preflight, 'response')) as [
      { statusCode: number; headers: IncomingHttpHeaders; resume: () => void },
    ];
    got.resume();
    expect([
      got.statusCode,
      got.headers['access-control-allow-origin'],
      got.headers['access-control-allow-headers'],
    ]).toEqual([204, 'https://page.example', 'x-api-key']);
    expect(asked()).toBe(0);
  });

  test('an open deployment is woken by anybody', async () => {
    const { url, answers } = await door(undefined, { ...chat, isOpen: true });
    answers(place);
    expect((await fetch(`${url}/threads`)).status).toBe(201);
  });
});

describe('beyond its limits', () => {
  test('one too many gets a 503 that says when to come back, and the others are answered', async () => {
    const { url, held, answers } = await door({ perDeployment: 2, total: 20 });
    const two = [1, 2].map(() => fetch(`${url}/threads`, { headers: WITH_KEY }));
    await until('both are held', () => held.count === 2);
    const third = await fetch(`${url}/threads`, { headers: WITH_KEY });
    expect([third.status, third.headers.get('retry-after'), held.refused]).toEqual([503, '2', 1]);
    answers(place);
    expect((await Promise.all(two)).map(({ status }) => status)).toEqual([201, 201]);
  });

  test('one namespace leaves as many places as it takes, and one that comes later finds some', async () => {
    const held = new HeldRequests({ perDeployment: 100, total: 12 });
    const of = (namespace: string): KnownDeployment => ({
      ...chat,
      key: `${namespace}/chat`,
      namespace,
    });
    const [flood, later, third] = await Promise.all(
      ['evil', 'team', 'third'].map((name) => door(undefined, of(name), held)),
    );
    const ask = ({ url }: Door, count: number) =>
      Array.from({ length: count }, () => fetch(`${url}/threads`, { headers: WITH_KEY }));
    const flooding = ask(flood!, 50);
    await until('the flood is held or refused', () => held.count + held.refused === 50);
    expect(held.count).toBe(6);
    const others = [...ask(later!, 3), ...ask(third!, 1)];
    await until('the others are held', () => held.count === 10);
    for (const one of [flood!, later!, third!]) one.answers(place);
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect((await Promise.all(flooding)).filter(({ status }) => status === 201)).toHaveLength(6);
  });

  test('when the process ends, whoever waits is told to come back, and so is whoever comes', async () => {
    const { url, held } = await door();
    const waiting = [1, 2, 3].map(() => fetch(`${url}/threads`, { headers: WITH_KEY }));
    await until('they are held', () => held.count === 3);
    held.leave();
    const late = await fetch(`${url}/threads`, { headers: WITH_KEY });
    const all = [...(await Promise.all(waiting)), late];
    expect(all.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual(
      Array.from({ length: 4 }, () => [503, '1']),
    );
  });

  test('a client that leaves makes room', async () => {
    const { url, held, answers } = await door();
    const left = new AbortController();
    const asking = fetch(`${url}/threads`, { headers: WITH_KEY, signal: left.signal }).catch(
      () => 'left',
    );
    await until('it is held', () => held.count === 1);
    left.abort();
    expect(await asking).toBe('left');
    await until('nothing is held', () => held.count === 0);
    answers(place);
    expect(held.refused).toBe(0);
  });
});
