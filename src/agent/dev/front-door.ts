import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { StartError } from '../../errors.ts';

/**
 * The port that stays open while servers behind it come and go. A connection belongs to the server that was there when
 * it came.
 */
export type FrontDoor = {
  port: number;
  /** From now on, connections go to this port of this machine. The first ones wait until it is known. */
  lead(port: number): void;
  stop(): Promise<void>;
};

export async function openFrontDoor({ host, port }: { host: string; port: number }): Promise<FrontDoor> {
  const open = new Set<Socket>();
  let target: number | undefined;
  let waiting: Socket[] = [];
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (client) => {
    open.add(client);
    client.once('close', () => open.delete(client));
    client.on('error', () => client.destroy());
    if (target === undefined) waiting.push(client);
    else join(client, target);
  });
  await listening(server, { host, port });
  return {
    port: (server.address() as { port: number }).port,
    lead: (to) => {
      target = to;
      for (const client of waiting) join(client, to);
      waiting = [];
    },
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const client of open) client.destroy();
      await closed;
    },
  };
}

function join(client: Socket, port: number): void {
  const server = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  server.on('error', () => client.destroy());
  server.once('close', () => client.destroy());
  client.once('close', () => server.destroy());
  client.pipe(server);
  server.pipe(client);
}

async function listening(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new StartError(`Port ${port} on ${host} is in use: choose another one with --port (0 is any free one).`, { cause: error });
    throw new StartError(`Can't listen on ${host}:${port}: ${message}.`, { cause: error });
  }
}
