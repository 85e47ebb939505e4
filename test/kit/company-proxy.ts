import { once } from 'node:events';
import { createServer, request as overHttp, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** A proxy of a company: it knows some names that nobody else resolves, and lets nothing else through. */
export type CompanyProxy = {
  url: string;
  /** The names and ports that were asked for, with the answer to each. */
  asked: string[];
  stop(): Promise<void>;
};

/** Starts a proxy that leads these names, each with its port, to ports of this machine. */
export async function startCompanyProxy(known: Record<string, number>): Promise<CompanyProxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://nowhere');
    const port = known[`${url.hostname}:${url.port === '' ? 80 : url.port}`];
    asked.push(`${request.method} ${url.host} ${port === undefined ? 403 : 200}`);
    if (port === undefined) return void response.writeHead(403).end('not allowed');
    const passed = overHttp({
      port,
      host: '127.0.0.1',
      path: `${url.pathname}${url.search}`,
      method: request.method,
      headers: request.headers,
    });
    passed.on('response', (answer: IncomingMessage) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.writeHead(502).end());
    request.pipe(passed);
  });
  server.on('connect', (request: IncomingMessage, client: Socket, head: Buffer) => {
    const port = known[request.url ?? ''];
    asked.push(`CONNECT ${request.url} ${port === undefined ? 403 : 200}`);
    if (port === undefined) return void client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    const target = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.write(head);
      client.pipe(target).pipe(client);
    });
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
