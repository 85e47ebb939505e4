import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createRun, createThread, streamRun, wait, waitOnFreshThread } from './api.ts';
import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { oneByOne, together } from './load.ts';

/** Messages of the client that it waits for an answer to: a simple query, and the end of a prepared one. */
const QUERY = 0x51;
const SYNC = 0x53;

/** Counts the messages of one connection that ask for an answer. The first message of a connection has no type. */
function counting(count: () => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let started = false;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = started ? 1 : 0;
      if (rest.length < head + 4) return;
      const length = head + rest.readInt32BE(head);
      if (rest.length < length) return;
      if (started && (rest[0] === QUERY || rest[0] === SYNC)) count();
      started = true;
      rest = rest.subarray(length);
    }
  };
}

/** A wire to the database that counts round trips. */
async function countingWire(uri: string): Promise<{ uri: string; count(): number; close(): void }> {
  const target = new URL(uri);
  const [port, host] = [Number(target.port), target.hostname];
  let seen = 0;
  const server = createServer((client) => {
    const upstream = connect(port, host);
    const look = counting(() => (seen += 1));
    client.on('data', look);
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) socket.on('error', () => (client.destroy(), upstream.destroy()));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  target.port = String((server.address() as AddressInfo).port);
  return { uri: target.href, count: () => seen, close: () => void server.close() };
}

const RUNS = 100;

/** Round trips to the database that one piece of work costs, the server's idle ones taken off. */
export async function measureRoundTrips(checkout: Checkout, databases: Databases): Promise<Record<string, number>> {
  const wire = await countingWire(await databases.fresh());
  const server = await checkout.start({ database: wire.uri });
  const thread = await createThread(server);
  await wait(server, thread);
  const spent = async (work: () => Promise<unknown>): Promise<number> => {
    const [before, at] = [wire.count(), performance.now()];
    await work();
    // The tail of the last run, and as much idleness again to know what that costs.
    await pause(500);
    const [after, seconds] = [wire.count(), (performance.now() - at) / 1000];
    await pause(3000);
    const idle = (wire.count() - after) / 3;
    return Math.max(0, after - before - idle * seconds) / RUNS;
  };
  const trips = {
    'create a thread': await spent(() => oneByOne(RUNS, () => createThread(server))),
    'thread + run + wait, 1 client': await spent(() => oneByOne(RUNS, () => waitOnFreshThread(server))),
    'thread + run + wait, 50 clients': await spent(() => together(50, RUNS, () => waitOnFreshThread(server))),
    'run + wait on one thread': await spent(() => oneByOne(RUNS, () => wait(server, thread))),
    'thread + stream of 50 events': await spent(() => oneByOne(RUNS, async () => streamRun(server, await createThread(server)))),
    'thread + background run, 20 clients': await spent(() => together(20, RUNS, async () => createRun(server, await createThread(server)))),
  };
  await server.stop();
  wire.close();
  return trips;
}
