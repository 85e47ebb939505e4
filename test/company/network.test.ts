import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { request as overHttp } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { buildProxyVariables } from '../../src/operator/objects/proxy-variables.ts';
import {
  createAuthority,
  createCertificate,
} from '../../src/operator/database/own/tls/certificate.ts';
import { repositoryOf, type Repository } from '../kit/build-stages.ts';
import { startCompanyProxy, type CompanyProxy } from '../kit/company-proxy.ts';
import { startGitHost, type GitHost } from '../kit/git-host.ts';

/*
 * A network whose proxy alone knows the names outside, and lets only some through, with certificates of a private
 * authority. Each program runs in a process of its own, with the environment that its pod has.
 */
const NAMES = [
  'git.company.test',
  'login.company.test',
  'registry.company.test',
  'hooks.company.test',
  's3.company.test',
  'traces.company.test',
] as const;
const PASSWORD = 'opens';
const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');
const run = promisify(execFile);
let server: Server;
let proxy: CompanyProxy;
let host: GitHost;
let repository: Repository;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  const when = { now: new Date(), random: randomBytes };
  const authority = createAuthority('company', when);
  const { certificate: cert, key } = createCertificate(authority, [...NAMES], when);
  repository = repositoryOf('plain');
  host = await startGitHost(repository.folder, PASSWORD);
  server = createServer({ cert, key }, (request, response) => {
    if (request.url?.startsWith('/repository') !== true) return void response.end('{"keys":[]}');
    const passed = overHttp(new URL(request.url, host.url), {
      method: request.method,
      headers: request.headers,
    });
    passed.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(passed);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  proxy = await startCompanyProxy(Object.fromEntries(NAMES.map((name) => [`${name}:443`, port])));
  folder = mkdtempSync(join(tmpdir(), 'gx-company-'));
  writeFileSync(join(folder, 'ca.crt'), authority.certificate);
  writeFileSync(join(folder, 'token'), PASSWORD);
  const variables = Object.entries(
    buildProxyVariables({ https: proxy.url, http: proxy.url, direct: ['.svc'] }),
  );
  const given = variables.flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'https://traces.company.test';
  env = {
    OTEL_EXPORTER_OTLP_ENDPOINT,
    PATH: process.env.PATH ?? '',
    HOME: folder,
    ...Object.fromEntries(given),
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.crt'),
  };
}, 120_000);
beforeEach(() => void proxy.asked.splice(0));
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await host.stop();
  await proxy.stop();
});

const asks = async (given: Record<string, string>): Promise<Record<string, string>> => {
  const { stdout } = await run(process.execPath, [join(import.meta.dirname, 'asks.ts')], {
    env: given,
  });
  return JSON.parse(stdout) as Record<string, string>;
};

test('git hosts, issuers, registries, stores, receivers of webhooks and collectors are asked through the proxy, with the authority of the company', async () => {
  const told = await asks(env);
  expect(told).toMatchObject({
    git: 'answered',
    issuer: 'answered',
    registry: 'answered',
    store: 'answered',
    collector: 'answered',
    webhook: 'answered',
  });
  expect(told.refused).toContain('is blocked by the proxy');
  expect(proxy.asked.toSorted()).toEqual(
    [
      ...NAMES.map((name) => `CONNECT ${name}:443 200`),
      'CONNECT other.company.test:443 403',
    ].toSorted(),
  );
});

test('without the authority each says which one is missing, and without the proxy nobody is reached', async () => {
  const { NODE_EXTRA_CA_CERTS: _authority, ...untrusting } = env;
  const told = await asks(untrusting);
  for (const name of ['git', 'issuer']) expect(told[name]).toContain('settings.caConfigMap');
  for (const name of ['registry', 'store', 'collector', 'webhook'])
    expect(told[name]).toMatch(/certificate|UNABLE_TO_VERIFY/);
  const alone = await asks({ PATH: env['PATH'] ?? '', HOME: folder });
  expect(Object.values(alone)).not.toContain('answered');
});

const clone = (url: string, credentials = folder) =>
  run(process.execPath, [main, 'builder', 'clone'], {
    env: {
      ...env,
      GX_GIT_URL: url,
      GX_GIT_REF: 'main',
      GX_GIT_CREDENTIALS: credentials,
      GX_WORK_FOLDER: join(folder, 'work'),
      GX_TERMINATION_LOG: join(folder, 'told'),
    },
  });

test('the stage that clones reaches its git host, and one that the proxy refuses is told', async () => {
  const commit = repository.commit();
  const { stdout } = await clone('https://git.company.test/repository');
  expect(stdout).toContain('check out');
  expect(existsSync(join(folder, 'work', 'source', 'greeting.mjs'))).toBe(true);
  expect(commit).toMatch(/^[0-9a-f]{40}$/);
  expect(proxy.asked.every((line) => line === 'CONNECT git.company.test:443 200')).toBe(true);
  await expect(clone('https://other.company.test/repository')).rejects.toThrow();
});

test.each([
  ['with line ends of Windows', `${PASSWORD}\r\n`],
  ['behind a byte order mark', `\uFEFF${PASSWORD}\n`],
  ['between spaces', ` ${PASSWORD} \n\n`],
])('a token that is mounted %s opens the repository', async (_form, text) => {
  const credentials = mkdtempSync(join(tmpdir(), 'gx-token-'));
  writeFileSync(join(credentials, 'token'), text);
  expect((await clone('https://git.company.test/repository', credentials)).stdout).toContain(
    'check out',
  );
});
