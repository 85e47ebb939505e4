import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type DetailedPeerCertificate } from 'node:tls';
import Koa from 'koa';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listen, type ListeningServer } from '../../src/http/server/listen.ts';
import {
  createAuthority,
  createCertificate,
  type Pair,
} from '../../src/operator/database/own/tls/certificate.ts';
import { silentLog } from '../kit/log.ts';
import { until } from '../kit/until.ts';

const when = { now: new Date(), random: randomBytes };
let authority: Pair;
let files: { cert: string; key: string };
let listener: ListeningServer;
beforeEach(async () => {
  authority = createAuthority('test authority', when);
  const folder = mkdtempSync(join(tmpdir(), 'gx-certificate-'));
  files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
  write(createCertificate(authority, ['localhost'], when));
  const app = new Koa();
  app.use((ctx) => void (ctx.body = 'answered'));
  listener = await listen(app, {
    host: '127.0.0.1',
    port: 0,
    tls: { files, log: silentLog(), every: 5 },
  });
});
afterEach(() => listener.stop(0));

function write({ certificate, key }: Pair): void {
  writeFileSync(files.cert, certificate);
  writeFileSync(files.key, key);
}

const trusting = () => ({
  host: '127.0.0.1',
  port: listener.port,
  servername: 'localhost',
  ca: authority.certificate,
});

/** The serial number of the certificate that a new connection gets, after it was verified. */
async function served(): Promise<string> {
  const socket = connect(trusting());
  await once(socket, 'secureConnect');
  const { serialNumber } = socket.getPeerCertificate() as DetailedPeerCertificate;
  socket.destroy();
  return serialNumber;
}

async function asked(): Promise<string> {
  const request = get({ ...trusting(), agent: false });
  const [response] = (await once(request, 'response')) as [AsyncIterable<Buffer>];
  return Buffer.concat(await Array.fromAsync(response)).toString();
}

test('clients that trust the authority are answered over TLS, and plain HTTP is not', async () => {
  expect(await asked()).toBe('answered');
  const plain = connectPlain(listener.port, '127.0.0.1');
  plain.on('error', () => undefined);
  plain.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  let text = '';
  plain.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  await once(plain, 'close');
  expect(text).not.toContain('answered');
});

test('a certificate that replaces the first is served to new connections, without a restart', async () => {
  const first = await served();
  write(createCertificate(authority, ['localhost'], when));
  await until('the new one is served', async () => (await served()) !== first);
  expect(await asked()).toBe('answered');
});

test('files that do not belong together leave the last certificate in use', async () => {
  const first = await served();
  const { certificate } = createCertificate(authority, ['localhost'], when);
  writeFileSync(files.cert, certificate);
  const end = performance.now() + 100;
  while (performance.now() < end) expect(await served()).toBe(first);
});

test.each([
  ['missing', () => ({ ...files, key: `${files.key}.none` })],
  [
    'no certificate',
    () => {
      writeFileSync(files.cert, 'nonsense');
      return files;
    },
  ],
])(
  'files that can not be used (%s) end the start with a sentence that names them',
  async (_, given) => {
    await expect(
      listen(new Koa(), { host: '127.0.0.1', port: 0, tls: { files: given(), log: silentLog() } }),
    ).rejects.toMatchObject({
      name: 'StartError',
      message: expect.stringContaining(files.cert),
    });
  },
);
