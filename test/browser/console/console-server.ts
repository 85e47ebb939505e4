import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openConsole } from '../../console/kit.ts';

/** A proxy in front of the console process, which puts its paths below a prefix that the console does not know. */
const PREFIX = '/some/prefix';

export type ConsoleServer = {
  url: string;
  /** Cuts all connections, and takes no new ones until `mend`. */
  cut(): void;
  mend(): void;
  stop(): Promise<void>;
};

/** Answers a request for a log in place of the control plane, whose API server has no pods. */
export type LogFeed = (incoming: IncomingMessage, response: ServerResponse) => void;
/** Returns where the host of an agent is. */
export type Reach = NonNullable<Parameters<typeof openConsole>[3]>;
type Served = { folder: string; api: string; logs?: LogFeed; reach?: Reach };

/** Starts a console with the page of a folder, for the API at an address, behind a proxy. */
export async function serveConsole({ folder, api, logs, reach }: Served): Promise<ConsoleServer> {
  const running = await openConsole(api, {}, folder, reach);
  const state = { isCut: false };
  const server = createServer((incoming, response) => {
    const path = (incoming.url ?? '').slice(PREFIX.length);
    if (state.isCut) incoming.socket.destroy();
    else if (logs !== undefined && path.split('?')[0]?.endsWith('/logs/stream') === true)
      logs(incoming, response);
    else pass(new URL(path, running.url), incoming, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${PREFIX}/console/`;
  return {
    url,
    cut: () => {
      state.isCut = true;
      server.closeAllConnections();
    },
    mend: () => void (state.isCut = false),
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await running.stop();
    },
  };
}

function pass(url: URL, incoming: IncomingMessage, response: ServerResponse): void {
  const onward = request(
    url,
    { method: incoming.method, headers: incoming.headers },
    (answered) => {
      response.writeHead(answered.statusCode ?? 500, answered.headers);
      answered.pipe(response);
    },
  );
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  incoming.pipe(onward);
}
