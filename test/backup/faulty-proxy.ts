import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/* A proxy before a real S3 server, which has the faults that a test gives it. */

/** Says what becomes of a request. Undefined: it goes through. */
export type Fault = (asked: IncomingMessage, answer: ServerResponse) => 'handled' | undefined;

export type FaultyProxy = { endpoint: string; fault: Fault; stop(): void };

/** Opens a proxy without a fault before the server at this address. */
export async function openFaultyProxy(server: string): Promise<FaultyProxy> {
  const { hostname, port } = new URL(server);
  const proxy = createServer((asked, answer) => {
    if (opened.fault(asked, answer) === 'handled') return;
    const { method, url: path, headers } = asked;
    const onward = request({ host: hostname, port, method, path, headers }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    asked.pipe(onward);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const opened: FaultyProxy = {
    endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    fault: () => undefined,
    stop: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
  return opened;
}

/** Refuses with a status and a code of S3. */
export const refuse = (answer: ServerResponse, status: number, code: string): 'handled' => {
  answer
    .writeHead(status, { connection: 'close' })
    .end(`<Error><Code>${code}</Code><Message>by the test</Message></Error>`);
  return 'handled';
};
