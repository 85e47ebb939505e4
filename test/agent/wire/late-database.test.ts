import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../../src/errors.ts';
import { failedStart, freePort, spawnAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/*
 * What a start does about a database that is not there yet. A server that should wait has more time than a test lasts.
 */

const PATIENT = { GX_POSTGRES_WAIT_SECONDS: '3600' };

let database: Awaited<ReturnType<typeof freshDatabase>>;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  database = await freshDatabase();
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
afterAll(() => database.drop());

const at = (port: number): string => Object.assign(new URL(database.uri), { port }).href;

/** An address for the database, and the server that answers there. */
async function listenAt(port: number, answer: (client: Socket) => void): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client);
    client.on('error', () => undefined);
    answer(client);
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
}

function forward(client: Socket): void {
  const upstream = connect(Number(new URL(database.uri).port), '127.0.0.1');
  upstream.on('error', () => client.destroy());
  client.on('close', () => upstream.destroy());
  client.pipe(upstream).pipe(client);
}

/** What Postgres says until it can accept connections. */
function startingUp(client: Socket): void {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0');
  const head = Buffer.alloc(5, 'E');
  head.writeInt32BE(4 + fields.length, 1);
  client.once('data', () => client.end(Buffer.concat([head, fields])));
}

async function patient(port: number): Promise<AgentProcess> {
  const agent = await spawnAgent({ database: at(port), env: PATIENT });
  closing.push(() => agent.kill('SIGKILL'));
  return agent;
}

const told = (agent: { output: string }, words: string): Record<string, unknown>[] =>
  agent.output
    .split('\n')
    .filter((line) => line.includes(`"${words}"`))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const waits = (agent: AgentProcess): Promise<unknown> =>
  until(
    'it waits',
    () => told({ output: agent.output() }, 'waiting for the database').length > 0,
    30,
  );

describe('a start that may wait for its database', () => {
  test('goes on when somebody listens there and Postgres has started, and tells of the wait twice', async () => {
    const port = await freePort();
    const agent = await patient(port);
    await waits(agent);
    let starting = 2;
    await listenAt(port, (client) => (starting-- > 0 ? startingUp(client) : forward(client)));
    await until(
      'it is ready',
      async () => (await fetch(`${agent.url}/ok`).catch(() => undefined))?.ok,
      30,
    );
    const output = agent.output();
    expect(starting).toBeLessThan(0);
    expect(told({ output }, 'waiting for the database')).toMatchObject([
      { reason: expect.stringMatching(/ECONNREFUSED/) as string },
    ]);
    expect(told({ output }, 'the database answers')).toMatchObject([
      { seconds: expect.any(Number) as number },
    ]);
    expect(await agent.kill()).toBe(0);
  });

  test.each([
    ['a wrong password', { password: 'wrong' }, /password authentication failed/],
    ['the name of no database', { pathname: '/nowhere' }, /"nowhere" does not exist/],
  ])('fails at once for %s', async (_what, wrong, sentence) => {
    const { code, output } = await failedStart({
      database: Object.assign(new URL(database.uri), wrong).href,
      env: PATIENT,
    });
    expect(code).toBe(EXIT.database);
    expect(output).toMatch(sentence);
    expect(output).not.toContain('wait');
  });

  test('fails when its time is up, and says how long it waited', async () => {
    const env = { GX_POSTGRES_WAIT_SECONDS: '3' };
    const { code, output } = await failedStart({ database: at(await freePort()), env });
    expect(code).toBe(EXIT.database);
    expect(told({ output }, 'waiting for the database')).toHaveLength(1);
    expect(output.trim().split('\n').at(-1)).toMatch(
      /^Database .* can't be reached: .*ECONNREFUSED.*; waited \d+(\.\d)? s for it\.$/,
    );
  });

  test('ends when it is told to stop between two attempts', async () => {
    const agent = await patient(await freePort());
    await waits(agent);
    expect(await agent.kill('SIGTERM')).toBe(0);
    expect(agent.output()).not.toMatch(/^\s+at /m);
  });

  test('ends when it is told to stop during an attempt that nobody answers', async () => {
    const port = await freePort();
    const asked = Promise.withResolvers<void>();
    await listenAt(port, () => asked.resolve());
    const agent = await patient(port);
    await asked.promise;
    expect(await agent.kill('SIGTERM')).toBe(0);
    expect(agent.output()).toBe('');
  });
});
