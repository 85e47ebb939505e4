import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { StartError } from '../../errors.ts';

/**
 * The port that stays open while servers behind it come and go. A connection belongs to the server that was there when
 * it arrived.
 */
export type FrontDoor = {
  port: number;
  /** Leads connections to this port of this machine from now on. The first ones wait until it is known. */
  lead(port: number): void;
  stop(): Promise<void>;
};

/** The port at which clients look for a development server first (Studio's page among them). */
export const USUAL_PORT = 2024;
/**
 * The number of neighbours of the usual port that are tried before any free one, so that two servers keep their
 * addresses.
 */
const NEIGHBOURS = 10;

/** Opens the door at the first of these ports that is free. Throws a `StartError` when all of them are taken. */
export async function openFirstFreeDoor(
  host: string,
  [port = 0, ...others]: number[],
): Promise<FrontDoor> {
  try {
    return await openFrontDoor({ host, port });
  } catch (error) {
    if (others.length === 0 || !isTaken((error as Error).cause)) throw error;
    return openFirstFreeDoor(host, others);
  }
}

/** Returns the usual port, its neighbours, and then any. */
export const listUsualPorts = (): number[] => [
  ...Array.from({ length: NEIGHBOURS }, (_, next) => USUAL_PORT + next),
  0,
];

const isTaken = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE';

export async function openFrontDoor({
  host,
  port,
}: {
  host: string;
  port: number;
}): Promise<FrontDoor> {
  const open = new Set<Socket>();
  let target: number | undefined;
  let waiting: Socket[] = [];
  const server = createServer(
    { allowHalfOpen: true, noDelay: true, pauseOnConnect: true },
    (client) => {
      open.add(client);
      client.once('close', () => open.delete(client));
      client.on('error', () => client.destroy());
      if (target === undefined) waiting.push(client);
      else join(client, target);
    },
  );
  await startListening(server, { host, port });
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

async function startListening(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    if (isTaken(error))
      throw new StartError(
        `Port ${port} on ${host} is in use: choose another one with --port (0 is any free one).`,
        { cause: error },
      );
    throw new StartError(`Can't listen on ${host}:${port}: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}
