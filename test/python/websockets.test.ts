import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/* WebSockets of an application in Python. Such in JavaScript have none. */

const GRAPH = path.resolve('test/agent/wire/auth/graphs/who.py:graph');
const SOCKETS = path.resolve('test/python/own-code/sockets.py');
const folder = mkdtempSync(path.join(tmpdir(), 'gx-sockets-'));
let database: TestDatabase;

const start = (
  app: string,
  more: object = {},
  env: Record<string, string> = {},
): Promise<AgentProcess> => {
  const config = path.join(folder, `${Math.random()}.json`);
  const auth = { path: path.resolve('test/python/own-code/auth.py:auth') };
  writeFileSync(
    config,
    JSON.stringify({ graphs: { who: GRAPH }, http: { app: `${SOCKETS}:${app}`, ...more }, auth }),
  );
  return startAgent({
    database: database.uri,
    config,
    env: { GX_PYTHON: `${inject('python')}/python`, ...env },
  });
};

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

type Heard = { data: Buffer; isBinary: boolean };

/** A client that keeps what it hears. */
class Client {
  readonly socket: WebSocket;
  readonly closed: Promise<[code: number, reason: string]>;
  readonly #heard: Heard[] = [];
  #wake: () => void = () => undefined;

  constructor(url: string, protocols: string[] = [], headers: Record<string, string> = {}) {
    this.socket = new WebSocket(url.replace('http', 'ws'), protocols, { headers });
    this.socket.on('message', (data, isBinary) => {
      this.#heard.push({ data: data as Buffer, isBinary });
      this.#wake();
    });
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) =>
      this.socket.once('close', (code, reason) => resolve([code, String(reason)])),
    );
  }

  async next(): Promise<string | Buffer> {
    while (this.#heard.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    const { data, isBinary } = this.#heard.shift()!;
    return isBinary ? data : data.toString();
  }

  async said(): Promise<Record<string, unknown>> {
    return JSON.parse(String(await this.next())) as Record<string, unknown>;
  }
}

/** Returns how the server answers instead of a connection. */
async function refusalOf(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; hint: string }> {
  const socket = new WebSocket(url.replace('http', 'ws'), { headers });
  socket.on('error', () => undefined);
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  const text = Buffer.concat(await answer.toArray()).toString();
  return {
    status: answer.statusCode!,
    text,
    hint: String(answer.headers['retry-after'] ?? answer.headers['x-hint'] ?? ''),
  };
}

describe('a connection of an application of FastAPI', () => {
  let agent: AgentProcess;
  beforeAll(async () => {
    const env = {
      GX_HTTP_APP_TIMEOUT_SECS: '2',
      GX_HTTP_MAX_REQUEST_BODY_BYTES: '1048576',
      GX_STREAMS_PER_CALLER: '6',
    };
    agent = await start('app', {}, env);
  });
  afterAll(() => agent.kill('SIGKILL'));

  const ends = async (): Promise<unknown> => (await fetch(`${agent.url}/ends`)).json();

  test('is accepted with a subprotocol and headers, and knows its path, its query and its client', async () => {
    const client = new Client(`${agent.url}/rooms/red?team=a`, ['chat.v1', 'chat.v2']);
    const [answer] = (await once(client.socket, 'upgrade')) as [IncomingMessage];
    expect(await client.said()).toEqual({
      room: 'red',
      user: null,
      team: 'a',
      client: '127.0.0.1',
    });
    expect([client.socket.protocol, answer.headers['x-room']]).toEqual(['chat.v2', 'red']);
    client.socket.terminate();
  });

  test('passes texts and bytes in both directions, in their order, whatever their size', async () => {
    const client = new Client(`${agent.url}/rooms/blue`);
    await client.said();
    client.socket.send('Grüße 🌍');
    client.socket.send('');
    client.socket.send(Buffer.of(1, 2, 3));
    const large = Buffer.alloc(1_000_000, 'abcdefg');
    client.socket.send(large);
    expect(await client.next()).toBe('blue: Grüße 🌍');
    expect(await client.next()).toBe('blue: ');
    expect(await client.next()).toEqual(Buffer.of(3, 2, 1));
    expect(Buffer.compare((await client.next()) as Buffer, large.toReversed())).toBe(0);
    client.socket.close(1000);
    expect(await client.closed).toEqual([1000, '']);
  });

  test.each([
    ['closes it', 'please close', [4321, 'as you wish']],
    ['fails', 'please fail', [1011, '']],
    ['returns', 'please return', [1000, '']],
  ])('ends with a code when the application %s', async (_, text, expected) => {
    const client = new Client(`${agent.url}/rooms/green`);
    await client.said();
    client.socket.send(text);
    expect(await client.closed).toEqual(expected);
  });

  test('that fails leaves the reason in the log alone', async () => {
    await expect.poll(() => agent.output()).toContain('the secret of the room');
  });

  test.each([
    [
      'with a code and a reason',
      (socket: WebSocket) => socket.close(4010, 'bored'),
      ['coded', 4010, 'bored'],
    ],
    ['without a code', (socket: WebSocket) => socket.close(), ['coded', 1005, '']],
    ['without a word', (socket: WebSocket) => socket.terminate(), ['coded', 1006, '']],
  ])('tells the application of a client that leaves %s', async (_, leave, expected) => {
    const client = new Client(`${agent.url}/rooms/coded`);
    await client.said();
    leave(client.socket);
    await expect.poll(ends).toContainEqual(expected);
  });

  test('is refused with 403, with an answer of the application, or with 500', async () => {
    expect(await refusalOf(`${agent.url}/refuses`)).toMatchObject({ status: 403, text: '' });
    expect(await refusalOf(`${agent.url}/answers`)).toEqual({
      status: 429,
      text: '{"wait":7}',
      hint: '7',
    });
    expect(await refusalOf(`${agent.url}/fails`)).toMatchObject({
      status: 500,
      text: '{"detail":"http.app failed."}',
    });
    await expect.poll(() => agent.output()).toContain('the secret before the room');
    expect(await refusalOf(`${agent.url}/nowhere`)).toMatchObject({ status: 404 });
  });

  test('that is not accepted in time is refused, and the application hears of it', async () => {
    expect(await refusalOf(`${agent.url}/never`)).toMatchObject({
      status: 503,
      text: '{"detail":"http.app did not answer within 2 s."}',
    });
    await expect.poll(ends).toContainEqual(['never', 'websocket.disconnect']);
  });

  test('whose client leaves before it is accepted tells the application at once', async () => {
    const before = ((await ends()) as unknown[]).filter((one) =>
      JSON.stringify(one).includes('never'),
    ).length;
    const client = new Client(`${agent.url}/never`);
    await new Promise((resolve) => setTimeout(resolve, 300));
    client.socket.terminate();
    const now = async (): Promise<number> =>
      ((await ends()) as unknown[]).filter((one) => JSON.stringify(one).includes('never')).length;
    await expect.poll(now, { timeout: 1500 }).toBe(before + 1);
  });

  test('ends with 1009 over a message that is too long, in either direction', async () => {
    const sender = new Client(`${agent.url}/rooms/long`);
    await sender.said();
    sender.socket.send(Buffer.alloc(1_100_000));
    expect((await sender.closed)[0]).toBe(1009);
    const reader = new Client(`${agent.url}/rooms/long`);
    await reader.said();
    reader.socket.send('send 1100000');
    expect(await reader.closed).toEqual([
      1009,
      'A message of 1100000 bytes is longer than 1048576.',
    ]);
  });

  test('holds an application back whose client does not read, and a client whose application does not', async () => {
    const reader = new Client(`${agent.url}/floods`);
    await once(reader.socket, 'open');
    reader.socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 1500));
    reader.socket.terminate();
    const flood = async (): Promise<unknown> =>
      ((await ends()) as [string, number][]).find(([name]) => name === 'floods');
    await expect.poll(flood).toBeDefined();
    expect(((await flood()) as [string, number])[1]).toBeLessThan(300);

    const writer = new Client(`${agent.url}/slow`);
    await once(writer.socket, 'open');
    for (let count = 0; count < 100; count += 1) writer.socket.send(Buffer.alloc(500_000));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(writer.socket.bufferedAmount).toBeGreaterThan(20_000_000);
    await fetch(`${agent.url}/release`);
    for (let count = 1; count <= 100; count += 1)
      expect(await writer.next()).toBe(String(count * 500_000));
    writer.socket.terminate();
  });

  test('counts as one of the streams of its caller', async () => {
    const clients = Array.from({ length: 6 }, () => new Client(`${agent.url}/rooms/many`));
    for (const client of clients) await client.said();
    expect(await refusalOf(`${agent.url}/rooms/many`)).toMatchObject({ status: 429 });
    for (const client of clients) client.socket.close();
    await expect
      .poll(async () => {
        const client = new Client(`${agent.url}/rooms/many`);
        const said = await Promise.race([client.said(), client.closed]);
        client.socket.terminate();
        return said;
      })
      .toMatchObject({ room: 'many' });
  });

  test('of a mounted application is served, and those of the server itself are, too', async () => {
    const mounted = new Client(`${agent.url}/below/here`);
    expect(await mounted.next()).toBe('mounted');
    expect((await mounted.closed)[0]).toBe(1000);
    const own = new Client(`${agent.url}/threads/${crypto.randomUUID()}/stream/events`, [], {
      'x-name': 'ann',
    });
    await once(own.socket, 'open');
    own.socket.terminate();
  });

  test('is ended with 1001 when the server stops', async () => {
    const client = new Client(`${agent.url}/rooms/last`);
    await client.said();
    await agent.kill();
    expect((await client.closed)[0]).toBe(1001);
  });
});

test('connections ask who calls where gx.json says so, below the prefix', async () => {
  const agent = await start('app', { enable_custom_route_auth: true, mount_prefix: '/agent' });
  expect(await refusalOf(`${agent.url}/agent/rooms/red`)).toEqual({
    status: 401,
    text: '{"detail":"Give a name."}',
    hint: 'x-name',
  });
  const client = new Client(`${agent.url}/agent/rooms/red`, [], { 'x-name': 'ann' });
  expect(await client.said()).toMatchObject({ room: 'red', user: 'ann' });
  client.socket.terminate();
  expect(await refusalOf(`${agent.url}/rooms/red`)).toMatchObject({ status: 404 });
  await agent.kill();
});

test('an application of another framework has connections', async () => {
  const agent = await start('plain');
  const client = new Client(`${agent.url}/any/where`);
  expect(await client.next()).toBe('plain /any/where ws');
  client.socket.close();
  expect((await client.closed)[0]).toBe(1005);
  await agent.kill();
});
