import { once } from 'node:events';
import { setGlobalProxyFromEnv } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';

/** The places where a gateway takes requests without and with TLS. */
export type Entrance = Record<'http' | 'https', { host: string; port: number }>;

/** A way for clients to a gateway whose hosts no DNS knows. */
export type Way = {
  /** The variables by which other programs take it. */
  env: Record<string, string>;
  close(): Promise<void>;
};

/**
 * Leads all requests of this process to the gateway, whatever host they name, but for those to `direct` hosts. It is a
 * proxy as companies have for the way out, so that clients use the addresses as the platform tells them. They trust the
 * authority besides the usual ones.
 */
export async function openWay(
  entrance: Entrance,
  { authority, direct }: { authority: string; direct: string[] },
): Promise<Way> {
  const sockets = new Set<Socket>();
  const kept = (socket: Socket): Socket => {
    // Else small pieces wait for the acknowledgement of those before.
    socket.setNoDelay();
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)));
    return socket;
  };
  const server = createServer((client) => {
    kept(client).once('data', (first: Buffer) => {
      const [, port] = /^CONNECT \S+:(\d+) /.exec(first.toString('latin1')) ?? [];
      const gate = kept(connect(port === '443' ? entrance.https : entrance.http));
      if (port === undefined) gate.write(first);
      else gate.once('connect', () => client.write('HTTP/1.1 200 Connection established\r\n\r\n'));
      client.pipe(gate).pipe(client);
      gate.on('close', () => client.destroy());
      client.on('close', () => gate.destroy());
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = {
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: ['127.0.0.1', 'localhost', ...direct].join(','),
  };
  const [restore, trusted] = [setGlobalProxyFromEnv(env), getCACertificates('default')];
  setDefaultCACertificates([...trusted, authority]);
  return {
    env,
    close: async () => {
      restore();
      setDefaultCACertificates(trusted);
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
