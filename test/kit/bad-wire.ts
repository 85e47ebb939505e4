import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';

/** A proxy between clients and a server of this machine that is slow and cuts its connections. */
export type BadWire = {
  /** Where the server answers through this proxy. */
  url: string;
  /** Returns how many connections were cut because they were old. */
  cuts(): number;
  /** Breaks all connections and refuses new ones. */
  cut(): void;
  /** Lets new connections work again. */
  mend(): void;
  stop(): void;
};

type Flaws = {
  /** Bytes a second that go through to a client. No limit if unset. */
  bytesPerSecond?: number;
  /** Milliseconds after which a connection is cut. Never if unset. */
  life?: number;
};

/** Milliseconds between two portions. */
const PORTION = 50;

export async function badWire(to: string, { bytesPerSecond, life }: Flaws = {}): Promise<BadWire> {
  const port = Number(new URL(to).port);
  const open = new Set<Socket>();
  let isCut = false;
  let cuts = 0;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(port, '127.0.0.1');
    for (const [from, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('error', () => other.destroy());
      from.on('close', () => {
        open.delete(from);
        other.destroy();
      });
    }
    client.pipe(upstream);
    if (bytesPerSecond === undefined) upstream.pipe(client);
    else upstream.pipe(slowly(bytesPerSecond)).pipe(client);
    if (life !== undefined) cutAfter(life, client, () => (cuts += 1));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const breakAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    cut: () => {
      isCut = true;
      breakAll();
    },
    mend: () => {
      isCut = false;
    },
    stop: () => {
      server.close();
      breakAll();
    },
  };
}

function cutAfter(milliseconds: number, client: Socket, onCut: () => void): void {
  const timer = setTimeout(() => {
    onCut();
    client.destroy();
  }, milliseconds);
  client.on('close', () => clearTimeout(timer));
}

/** Lets a portion through at a time. What comes faster waits, also in the server. */
function slowly(bytesPerSecond: number): Transform {
  const most = Math.max(1, Math.floor((bytesPerSecond * PORTION) / 1000));
  return new Transform({
    highWaterMark: most,
    transform(chunk: Buffer, _encoding, done) {
      void (async () => {
        for (let from = 0; from < chunk.length; from += most) {
          this.push(chunk.subarray(from, from + most));
          await wait(PORTION);
        }
        done();
      })();
    },
  });
}
