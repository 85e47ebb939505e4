import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';

/** Messages that the client waits for an answer to: a simple query, and the end of a prepared one. */
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

export type CountingWire = { uri: string; count(): number; close(): void };

/** A wire to the database that counts round trips. */
export async function countingWire(uri: string): Promise<CountingWire> {
  const target = new URL(uri);
  const [port, host] = [Number(target.port), target.hostname];
  let seen = 0;
  const server = createServer((client) => {
    const upstream = connect(port, host);
    const look = counting(() => (seen += 1));
    client.on('data', look);
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream])
      socket.on('error', () => (client.destroy(), upstream.destroy()));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  target.port = String((server.address() as AddressInfo).port);
  return { uri: target.href, count: () => seen, close: () => void server.close() };
}
