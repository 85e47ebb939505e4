import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes, randomUUID, X509Certificate } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import {
  createAuthority,
  createCertificate,
} from '../../src/operator/database/own/tls/certificate.ts';
import { COMPILE_CACHE } from '../kit/compile-cache.ts';
import { until } from '../kit/until.ts';

const namespace = `start-${randomUUID().slice(0, 8)}`;
let kube: Kube;
beforeAll(async () => {
  kube = await connect({
    fieldManager: 'test',
    userAgent: 'test/start',
    kubeconfig: inject('kubeconfig'),
  });
  await kube.create(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
});
afterAll(() => kube.close());

/** `closed` holds the exit code, once the process has ended and all of its output was read. */
type Running = { child: ChildProcess; output: () => string; closed: Promise<unknown[]> };

/** `node src/main.ts …`, as the image starts it. */
function run(args: string[], env: Record<string, string> = {}): Running {
  const own = {
    PATH: process.env.PATH,
    ...COMPILE_CACHE,
    KUBECONFIG: inject('kubeconfig'),
    GX_NAMESPACE: namespace,
    GX_WATCH_NAMESPACES: namespace,
  };
  const child = spawn(process.execPath, ['src/main.ts', ...args], { env: { ...own, ...env } });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return { child, output: () => text, closed: once(child, 'close') };
}

const ended = async ({ closed, output }: Running): Promise<[number | null, string]> => {
  const [code] = (await closed) as [number | null];
  return [code, output()];
};

test('the process starts, takes a key made by the command, and ends with 0 on SIGTERM', async () => {
  const [code, key] = await ended(run(['api-key', 'create', '--name', 'ci', '--quiet']));
  expect([code, key]).toEqual([0, expect.stringMatching(/^gx_[\w-]{65}\n$/)]);
  const server = run(['control-plane'], {
    GX_SERVER_PORT: '0',
    GX_HEALTH_PORT: '0',
    GX_SERVER_HOST: '127.0.0.1',
    GX_SHUTDOWN_DELAY_SECONDS: '0',
  });
  const port = (): string => /"port":(\d+)/.exec(server.output())?.[1] ?? '';
  await until('it listens', () => port() !== '');
  const url = `http://127.0.0.1:${port()}`;
  await until('it is ready', async () => (await fetch(`${url}/readyz`)).ok);
  expect((await fetch(`${url}/v2/deployments`)).status).toBe(401);
  const answer = await fetch(`${url}/v2/deployments`, { headers: { 'x-api-key': key.trim() } });
  expect(await answer.json()).toEqual({ resources: [], offset: 0 });
  server.child.kill('SIGTERM');
  const [exit, output] = await ended(server);
  expect([exit, output]).toEqual([0, expect.stringContaining('control plane stopped')]);
});

test('with a certificate the process serves HTTPS, probes and all, and metrics in plain HTTP at the port of the cluster', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gx-start-'));
  const when = { now: new Date(), random: randomBytes };
  const authority = createAuthority('test authority', when);
  const { certificate, key } = createCertificate(authority, ['localhost'], when);
  const files = {
    GX_TLS_CERT_FILE: join(folder, 'tls.crt'),
    GX_TLS_KEY_FILE: join(folder, 'tls.key'),
  };
  writeFileSync(files.GX_TLS_CERT_FILE, certificate);
  writeFileSync(files.GX_TLS_KEY_FILE, key);
  const env = {
    GX_SERVER_PORT: '0',
    GX_HEALTH_PORT: '0',
    GX_SERVER_HOST: '127.0.0.1',
    GX_SHUTDOWN_DELAY_SECONDS: '0',
    ...files,
  };
  const server = run(['control-plane'], env);
  const port = (): string => /"port":(\d+)/.exec(server.output())?.[1] ?? '';
  await until('it listens', () => port() !== '');
  const options = {
    host: '127.0.0.1',
    port: port(),
    servername: 'localhost',
    ca: authority.certificate,
    agent: false,
  };
  const answerOf = async (path: string): Promise<{ status: number | undefined; body: string }> => {
    const [response] = (await once(get({ ...options, path }), 'response')) as [IncomingMessage];
    return { status: response.statusCode, body: await textOf(response) };
  };
  const metrics = async (): Promise<string> =>
    (
      await fetch(`http://127.0.0.1:${/"health_port":(\d+)/.exec(server.output())?.[1]}/metrics`)
    ).text();
  const statusOf = async (path: string): Promise<number | undefined> =>
    (await answerOf(path)).status;
  await until('it is ready', async () => (await statusOf('/readyz')) === 200);
  expect(await statusOf('/v2/deployments')).toBe(401);
  const expiry = /^gx_control_plane_certificate_expiry_timestamp_seconds (\d+)$/m.exec(
    await metrics(),
  )?.[1];
  expect(Number(expiry)).toBe(new X509Certificate(certificate).validToDate.getTime() / 1000);
  server.child.kill('SIGTERM');
  expect((await ended(server))[0]).toBe(0);
});

test.each([
  [
    'a setting that is none',
    { GX_HOSTING: 'moon', GX_SERVER_PORT: 'x' },
    /^Configuration: GX_SERVER_PORT .*; GX_HOSTING must be one of self-hosted, cloud, both\.\n$/,
  ],
  [
    'a certificate without its key',
    { GX_TLS_CERT_FILE: '/nowhere' },
    /GX_TLS_KEY_FILE must both be set/,
  ],
  [
    'a certificate that is not there',
    { GX_TLS_CERT_FILE: '/no.crt', GX_TLS_KEY_FILE: '/no.key', GX_SERVER_PORT: '0' },
    /\/no\.crt/,
  ],
  ['a kubeconfig that is not there', { KUBECONFIG: '/nowhere' }, /kubeconfig/],
])('%s ends the start with 1 and one sentence', async (_, env, sentence) => {
  const [code, output] = await ended(run(['control-plane'], env));
  expect([code, output.split('\n').length]).toEqual([1, 2]);
  expect(output).toMatch(sentence);
});

test('a port in use ends the start with 1 and one sentence that names it', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as { port: number };
  const [code, output] = await ended(
    run(['control-plane'], { GX_SERVER_PORT: String(port), GX_SERVER_HOST: '127.0.0.1' }),
  );
  expect([code, output]).toEqual([1, expect.stringMatching(new RegExp(`^Port ${port} .*\n$`))]);
  holder.close();
});
