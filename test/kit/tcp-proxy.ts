import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';

/** A proxy between a client and the API server that counts connections, and can be cut or made silent. */
export type TcpProxy = {
  /** A kubeconfig that goes through this proxy. */
  kubeconfig: string;
  connections(): number;
  /** Breaks the open connections and refuses new ones. */
  cut(): void;
  /** Keeps connections open, but lets nothing through any more. */
  silence(): void;
  /** Lets new connections work again. Silent ones stay silent. */
  mend(): void;
  stop(): void;
};

export async function tcpProxy(kubeconfig: string): Promise<TcpProxy> {
  const text = readFileSync(kubeconfig, 'utf8');
  const target = Number(/server: https:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1]);
  const sockets = new Set<Socket>();
  let accepted = 0;
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    accepted += 1;
    joinSockets(client, connect(target, '127.0.0.1'), sockets);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const path = `${kubeconfig}.proxy-${Math.random().toString(36).slice(2)}`;
  writeFileSync(
    path,
    text.replace(`127.0.0.1:${target}`, `127.0.0.1:${(server.address() as { port: number }).port}`),
  );
  return {
    kubeconfig: path,
    connections: () => accepted,
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    silence: () => {
      for (const socket of sockets) socket.unpipe();
      for (const socket of sockets) socket.resume();
    },
    mend: () => {
      isCut = false;
    },
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Passes on what each side says to the other; the end or failure of one ends the other. `sockets`: the open ones. */
export function joinSockets(client: Socket, upstream: Socket, sockets: Set<Socket>): void {
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    sockets.add(from);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    from.pipe(to);
  }
}
