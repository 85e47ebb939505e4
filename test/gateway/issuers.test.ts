import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import type { KnownDeployment } from '../../src/gateway/known-deployments.ts';
import { WakingCallers } from '../../src/gateway/waking-callers.ts';
import { startIssuer } from '../control-plane/kit/issuer.ts';
import { knownDeployment } from '../kit/known-deployment.ts';
import { silentLog } from '../kit/log.ts';

/* The gateway checks tokens of identity providers that tenants chose. A tenant may choose one that is hostile. */

const LISTED = ['127.0.0.1'];
const callers = (issuerHosts = LISTED) =>
  new WakingCallers({ controlPlaneUrl: undefined, issuerHosts, log: silentLog() });

type Auth = NonNullable<KnownDeployment['auth']>;
const deploymentOf = (auth: Partial<Auth>, namespace = 'team'): KnownDeployment =>
  knownDeployment({
    key: `${namespace}/${JSON.stringify(auth)}`,
    namespace,
    auth: { audiences: ['gx'], ...auth },
    isOpenedBy: () => false,
  });
const shown = (token: string) => ({
  headers: { authorization: `Bearer ${token}` },
  source: '10.0.0.1',
});

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Serves keys as a hostile issuer does. Returns where, and how often it was asked. */
async function hostile(answer: RequestListener): Promise<{ url: string; asked: () => number }> {
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    answer(request, response);
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

const issuer = await startIssuer();

test('a token of the issuer wakes the deployment', async () => {
  expect(
    await callers().admit(deploymentOf({ issuer: issuer.url }), shown(await issuer.token())),
  ).toBeUndefined();
});

test.each([
  ['no token', 'a.b.c'],
  ['a token without a signature', 'eyJhbGciOiJub25lIn0.e30.'],
  ['a token of another issuer', await issuer.token({ iss: 'https://id.example.com' })],
])('for %s nobody asks the issuer for its keys', async (_, token) => {
  const { url, asked } = await hostile((_request, response) => response.end('{}'));
  await expect(
    callers().admit(deploymentOf({ issuer: url, jwks: url }), shown(token)),
  ).rejects.toMatchObject({ status: 401 });
  expect(asked()).toBe(0);
});

test.each([
  'http://127.0.0.1',
  'http://localhost',
  'http://2130706433',
  'http://[::1]',
  'http://[::ffff:7f00:1]',
])('keys at %s are not asked for, unless the administrator lists the host', async (host) => {
  const { url, asked } = await hostile((_request, response) => response.end('{"keys":[]}'));
  const { port } = new URL(url);
  const auth = { issuer: issuer.url, jwks: `${host}:${port}/keys` };
  await expect(
    callers([]).admit(deploymentOf(auth), shown(await issuer.token())),
  ).rejects.toMatchObject({ status: 503 });
  expect(asked()).toBe(0);
});

describe('keys that are', () => {
  /** Returns the status of a token whose issuer answers so. */
  const statusBy = async (answer: RequestListener): Promise<number | undefined> => {
    const { url } = await hostile(answer);
    const admitted = callers().admit(
      deploymentOf({ issuer: issuer.url, jwks: url }),
      shown(await issuer.token()),
    );
    return admitted.then(
      () => undefined,
      ({ status }: { status: number }) => status,
    );
  };

  test('endless are not read to their end', async () => {
    let sent = 0;
    const piece = Buffer.alloc(65_536, ' ');
    let over: () => void;
    const closed = new Promise<void>((resolve) => (over = resolve));
    const status = await statusBy((_request, response) => {
      response.once('close', () => over());
      const more = (): void => {
        while (!response.destroyed && response.write(piece)) sent += piece.length;
        sent += piece.length;
        if (!response.destroyed && sent < 200_000_000) response.once('drain', more);
      };
      more();
    });
    await closed;
    expect([status, sent < 20_000_000]).toEqual([503, true]);
  });

  test('packed are not unpacked, and nobody asked for that', async () => {
    let asked: string | undefined;
    const bomb = gzipSync(Buffer.alloc(100_000_000, ' '));
    const status = await statusBy((request, response) => {
      asked = request.headers['accept-encoding'];
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    });
    expect([status, asked]).toEqual([503, 'identity']);
  });

  test('too many are not tried', async () => {
    const keys = Array.from({ length: 51 }, () => ({ kty: 'RSA', n: 'AQAB', e: 'AQAB' }));
    expect(await statusBy((_request, response) => response.end(JSON.stringify({ keys })))).toBe(
      503,
    );
  });
});

test('issuers of one namespace that do not answer hold up no other namespace, and are asked a few at a time', async () => {
  const { url, asked } = await hostile(() => undefined);
  const gate = callers();
  const token = await issuer.token();
  const slow = Array.from({ length: 300 }, (_, index) =>
    gate
      .admit(deploymentOf({ issuer: issuer.url, jwks: `${url}/${index}` }, 'evil'), shown(token))
      .catch((error: unknown) => error),
  );
  await gate.admit(deploymentOf({ issuer: issuer.url }), shown(token));
  expect(asked()).toBeLessThanOrEqual(4);
  expect(await Promise.race(slow)).toMatchObject({ status: 503 });
});
