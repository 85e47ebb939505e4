import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseCursor, isAfter } from '../../../src/schema/agent/stream-event.ts';
import { readStream, type Seen } from '../../crash/sse.ts';
import { startPair, type AgentPair } from '../../kit/agent-pair.ts';
import { joinSockets } from '../../kit/tcp-proxy.ts';
import { until } from '../../kit/until.ts';

/* Each message of every stream has an id, and a client that reconnects shows the last one, whatever the run. */

let pair: AgentPair;
let proxy: Server;
const sockets = new Set<Socket>();

beforeAll(async () => {
  pair = await startPair({});
  proxy = createServer((client) =>
    joinSockets(client, connect(Number(new URL(pair.api.url).port), '127.0.0.1'), sockets),
  );
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
});

afterAll(async () => {
  proxy.close();
  await pair.stop();
});

const post = (body: object): RequestInit => ({ method: 'POST', body: JSON.stringify(body) });
const steps = { assistant_id: 'steps', input: { left: 3 }, stream_mode: ['values', 'custom'] };

async function read(url: string, init: RequestInit = {}, seen: Seen[] = []): Promise<Seen[]> {
  await readStream(url, init, seen);
  return seen;
}

/** Reads a stream that has no end of its own until it has such an event. */
async function readUpTo(
  url: string,
  init: RequestInit,
  isLast: (seen: Seen) => boolean,
): Promise<Seen[]> {
  const leaving = new AbortController();
  const seen: Seen[] = [];
  const reading = readStream(url, { ...init, signal: leaving.signal }, seen);
  await until('the last event has come', () => seen.some(isLast));
  leaving.abort();
  await reading;
  return seen;
}

/** Expects an id of the form `ms-seq` on each message, each behind the one before. */
function expectIds(seen: Seen[]): void {
  const ids = seen.map(({ id }) => id);
  expect(ids).toEqual(ids.map(() => expect.stringMatching(/^\d+-\d+$/) as string));
  const cursors = ids.map((id) => parseCursor(id!)!);
  expect(cursors.filter((one, at) => at > 0 && !isAfter(one, cursors[at - 1]!))).toEqual([]);
}

describe.each(['api', 'queue'] as const)(
  'each message has an id that is behind the one before, read in the %s process,',
  (name) => {
    const url = (): string => pair[name].url;

    test('of a run, on a thread of its own and on a given one, up to its error', async () => {
      const { thread_id } = await pair.api.client.threads.create();
      const own = await read(`${url()}/runs/stream`, post(steps));
      const given = await read(`${url()}/threads/${thread_id}/runs/stream`, post(steps));
      const failed = await read(
        `${url()}/runs/stream`,
        post({ assistant_id: 'broken', input: { how: 'error' } }),
      );
      expect([own.length, given.length]).toEqual([8, 8]);
      expect([failed[0]?.event, failed.at(-1)?.event]).toEqual(['metadata', 'error']);
      for (const seen of [own, given, failed]) expectIds(seen);
    });

    test('of a run that is joined, and of its thread', async () => {
      const { thread_id } = await pair.api.client.threads.create();
      const isEnd = ({ data }: Seen): boolean =>
        (data as { status?: string }).status === 'run_done';
      const thread = readUpTo(
        `${url()}/threads/${thread_id}/stream`,
        { headers: { 'last-event-id': '-' } },
        isEnd,
      );
      const { run_id } = await pair.api.client.runs.create(thread_id, 'steps', {
        input: { left: 3, pause: 200 },
        streamMode: 'custom',
      });
      const joined = await read(`${url()}/threads/${thread_id}/runs/${run_id}/stream`);
      expect([joined, await thread].map((seen) => seen.length > 1)).toEqual([true, true]);
      expectIds(joined);
      expectIds(await thread);
    });

    test('of event streaming, where the id is that of the event', async () => {
      const id = crypto.randomUUID();
      const command = {
        id: 1,
        method: 'run.start',
        params: { assistant_id: 'steps', input: { left: 2 } },
      };
      await fetch(`${url()}/threads/${id}/commands`, post(command));
      const isEnd = ({ data }: Seen): boolean =>
        (data as { params: { data: { event?: string } } }).params?.data.event === 'completed';
      const seen = await readUpTo(
        `${url()}/threads/${id}/stream/events`,
        post({ channels: ['values', 'lifecycle', 'custom'] }),
        isEnd,
      );
      expectIds(seen);
      expect(seen.map((one) => one.id)).toEqual(
        seen.map(({ data }) => (data as { event_id: string }).event_id),
      );
    });
  },
);

test('a client whose connection breaks takes up a run that is not resumable, with the id that it saw last, and reads it to its end', async () => {
  const client = new Client({
    apiUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    apiKey: null,
  });
  const { thread_id } = await client.threads.create();
  const seen: Seen[] = [];
  // The client waits 1 to 2 s before it connects again. The run has 6 s left then.
  for await (const event of client.runs.stream(thread_id, 'steps', {
    input: { left: 8, pause: 1000 },
    streamMode: 'custom',
  })) {
    seen.push(event as Seen);
    if (seen.length === 3) for (const socket of sockets) socket.destroy();
  }
  const lefts = seen
    .filter(({ event }) => event === 'custom')
    .map(({ data }) => (data as { left: number }).left);
  expect(lefts.slice(0, 2)).toEqual([8, 7]);
  expect(lefts.at(-1)).toBe(1);
  expectIds(seen);
});

test.each(['1-1', '-1', 'no id'])(
  'Last-Event-ID %s means nothing to a run that is not resumable',
  async (id) => {
    const { thread_id } = await pair.api.client.threads.create();
    const { run_id } = await pair.api.client.runs.create(thread_id, 'steps', {
      input: { left: 4, pause: 250 },
      streamMode: 'custom',
    });
    const path = `${pair.api.url}/threads/${thread_id}/runs/${run_id}/stream`;
    const all = await readUpTo(path, {}, ({ data }) => (data as { left?: number }).left === 3);
    const rest = await read(path, { headers: { 'last-event-id': id } });
    expect(rest.filter((one) => all.some((before) => before.id === one.id))).toEqual([]);
    expect(rest.at(-1)?.data).toEqual({ left: 1 });
    expect(await read(path, { headers: { 'last-event-id': id } })).toEqual([]);
  },
);
