import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket, type ClientOptions } from 'ws';
import { startPair, type AgentPair } from '../../kit/agent-pair.ts';
import { ALL, isRunEnd, WireThread, type ReadEvent } from './client.ts';

/* Event streaming over one WebSocket for a thread, with readers in one process and runs in another. */

const PAGE = 'https://page.example';

let pair: AgentPair;

beforeAll(async () => {
  pair = await startPair({ CORS_ALLOW_ORIGINS: PAGE }, 'test/agent/event-streaming/graphs/gx.json');
});

afterAll(() => pair.stop());

type Frame = Record<string, unknown> & { type: string };

class Connection {
  readonly frames: Frame[] = [];
  readonly socket: WebSocket;
  #last = 0;

  constructor(threadId: string, options: ClientOptions = {}) {
    this.socket = new WebSocket(
      `${pair.api.url.replace('http', 'ws')}/threads/${threadId}/stream/events`,
      options,
    );
    this.socket.on('message', (data: Buffer) =>
      this.frames.push(JSON.parse(data.toString()) as Frame),
    );
  }

  async command(method: string, params: object = {}): Promise<Frame> {
    if (this.socket.readyState !== WebSocket.OPEN) await once(this.socket, 'open');
    const id = (this.#last += 1);
    this.socket.send(JSON.stringify({ id, method, params }));
    return this.until((frame) => frame['id'] === id && frame.type !== 'event');
  }

  get events(): ReadEvent[] {
    return this.frames.filter(({ type }) => type === 'event') as unknown as ReadEvent[];
  }

  async until(found: (frame: Frame) => boolean): Promise<Frame> {
    for (;;) {
      const frame = this.frames.find(found);
      if (frame !== undefined) return frame;
      await once(this.socket, 'message');
    }
  }

  async untilEnd(): Promise<void> {
    await this.until((frame) => frame.type === 'event' && isRunEnd(frame as unknown as ReadEvent));
  }
}

const counting = { assistant_id: 'counter', input: { left: 3, pause: 20 } };

test('commands and events share a connection; what two subscriptions want comes once', async () => {
  const connection = new Connection(randomUUID());
  const first = await connection.command('subscription.subscribe', { channels: ALL });
  expect(first).toMatchObject({
    type: 'success',
    result: { subscription_id: expect.any(String) as string },
  });
  await connection.command('subscription.subscribe', { channels: ['lifecycle', 'values'] });
  expect(await connection.command('run.start', counting)).toMatchObject({
    type: 'success',
    result: { run_id: expect.any(String) as string },
  });
  await connection.untilEnd();
  expect(connection.events.map(({ seq }) => seq)).toEqual(connection.events.map((_, at) => at + 1));
  connection.socket.close();
});

test('a later subscription gets what came before, and then what comes', async () => {
  const id = randomUUID();
  const connection = new Connection(id);
  await connection.command('subscription.subscribe', { channels: ['lifecycle'] });
  await connection.command('run.start', counting);
  await connection.untilEnd();
  const before = connection.frames.length;
  const { result } = await connection.command('subscription.subscribe', { channels: ['values'] });
  await connection.command('run.start', counting);
  await connection.until(
    (frame) =>
      frame.type === 'event' &&
      isRunEnd(frame as unknown as ReadEvent) &&
      connection.frames.indexOf(frame) > before,
  );
  const all = await new WireThread(pair.api.url, id).read(
    { channels: ['values'] },
    ({ seq }) => seq >= connection.events.at(-1)!.seq - 1,
  );
  expect(connection.events.filter(({ method }) => method === 'values')).toEqual(all);
  const { subscription_id } = result as { subscription_id: string };
  expect(
    await connection.command('subscription.reconnect', {
      run_id: 'x',
      subscriptions: [subscription_id],
    }),
  ).toMatchObject({
    result: { restored: true },
  });
  expect(await connection.command('subscription.unsubscribe', { subscription_id })).toMatchObject({
    type: 'success',
  });
  expect(await connection.command('subscription.unsubscribe', { subscription_id })).toMatchObject({
    error: 'no_such_subscription',
  });
  connection.socket.close();
});

test('a subscription says how many stored events follow', async () => {
  const id = randomUUID();
  const first = new Connection(id);
  const asked = { channels: ALL };
  expect((await first.command('subscription.subscribe', asked))['result']).toMatchObject({
    replayed_events: 0,
  });
  await first.command('run.start', counting);
  await first.untilEnd();
  const all = first.events;
  const later = new Connection(id);
  const replayed = async (more: object): Promise<number> => {
    const before = later.events.length;
    const { result } = await later.command('subscription.subscribe', { channels: ALL, ...more });
    const { replayed_events: count } = result as { replayed_events: number };
    // Too many events would have come before the answer to another command.
    await later.command('state.get', { namespace: [] });
    await expect.poll(() => later.events.length - before).toBe(count);
    return count;
  };
  expect(await replayed({ since: 4 })).toBe(all.length - 4);
  expect(await replayed({ channels: ['values'] })).toBe(
    all.filter(({ method }) => method === 'values').length,
  );
  expect(
    await replayed({
      channels: ['custom:count', 'lifecycle'],
      since: 2,
      depth: 0,
      namespaces: [[]],
    }),
  ).toBe(
    all.filter(({ method, seq }) => ['custom', 'lifecycle'].includes(method) && seq > 2).length,
  );
  expect(await replayed({ since: all.length })).toBe(0);
  for (const { socket } of [first, later]) socket.close();
});

test('what is no command, or none that can be carried out, is answered', async () => {
  const connection = new Connection(randomUUID());
  expect(await connection.command('nope')).toMatchObject({
    type: 'error',
    error: 'unknown_command',
  });
  expect(await connection.command('subscription.subscribe', {})).toMatchObject({
    error: 'invalid_argument',
  });
  expect(await connection.command('subscription.subscribe', { channels: ['nope'] })).toMatchObject({
    error: 'invalid_argument',
  });
  expect(
    await connection.command('subscription.subscribe', { channels: ['values'], depth: -1 }),
  ).toMatchObject({
    error: 'invalid_argument',
  });
  expect(await connection.command('state.get', { namespace: [] })).toMatchObject({
    error: 'no_such_run',
  });
  connection.socket.send('nothing');
  expect(await connection.until(({ id }) => id === null)).toMatchObject({
    type: 'error',
    error: 'invalid_argument',
  });
  connection.socket.close();
});

test('a connection that is refused is closed with the status of the refusal', async () => {
  const codes = async (threadId: string, options: ClientOptions = {}): Promise<number> => {
    const [code] = (await once(new Connection(threadId, options).socket, 'close')) as [number];
    return code;
  };
  expect(await codes('x')).toBe(4422);
  expect(await codes(randomUUID(), { origin: 'https://other.example' })).toBe(4403);
  const [error] = (await once(
    new WebSocket(`${pair.api.url.replace('http', 'ws')}/nowhere`),
    'error',
  )) as [Error];
  expect(error.message).toContain('404');
  const permitted = new Connection(randomUUID(), { origin: PAGE });
  expect(await permitted.command('nope')).toMatchObject({ error: 'unknown_command' });
  permitted.socket.close();
});

test('the official client speaks over it', async () => {
  const stream = pair.api.client.threads.stream({ assistantId: 'agent', transport: 'websocket' });
  const subgraphs: string[] = [];
  const subs = (async () => {
    for await (const { graphName, name } of stream.subgraphs) subgraphs.push(graphName ?? name);
  })();
  await stream.run.start({ input: { messages: [], value: 'init', items: [] } });
  await stream.output;
  expect(stream.interrupts).toMatchObject([{ payload: 'Are we good?' }]);
  await stream.input.respond({
    interrupt_id: stream.interrupts[0]!.interruptId,
    namespace: [],
    response: 'yes',
  });
  await subs;
  expect(await stream.state.get({ namespace: [], keys: ['items'] })).toMatchObject({
    values: { items: expect.arrayContaining(['streamed']) as string[] },
  });
  await stream.close();
});

test('a connection has a bound of subscriptions, and one that sends without listening is closed', async () => {
  const connection = new Connection(randomUUID());
  const answers = [];
  for (let count = 0; count <= 100; count += 1)
    answers.push(await connection.command('subscription.subscribe', { channels: ['values'] }));
  expect(answers.slice(0, 100).every(({ type }) => type === 'success')).toBe(true);
  expect(answers[100]).toMatchObject({ type: 'error', error: 'invalid_argument' });
  const closed = once(connection.socket, 'close');
  for (let id = 1000; id < 1500; id += 1)
    connection.socket.send(JSON.stringify({ id, method: 'state.get', params: {} }));
  expect((await closed)[0]).toBe(1008);
});

test('a server that stops closes its connections, so that clients go elsewhere', async () => {
  const connection = new Connection(randomUUID());
  await connection.command('subscription.subscribe', { channels: ALL });
  const idle = new Connection(randomUUID());
  await idle.command('nope');
  const closed = Promise.all(
    [connection, idle].map(({ socket }) => once(socket, 'close') as Promise<[number]>),
  );
  expect(await pair.api.kill('SIGTERM')).toBe(0);
  expect((await closed).map(([code]) => code)).toEqual([1001, 1001]);
});
