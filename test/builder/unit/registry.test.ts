import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { showGitCredential } from '../../../src/builder/clone/credentials.ts';
import { askRegistries } from '../../../src/builder/registry/client.ts';
import { findCredential } from '../../../src/builder/registry/credentials.ts';
import { sshKeys } from '../../kit/ssh-host.ts';
import { parseImageReference } from '../../../src/builder/registry/reference.ts';

let server: Server | undefined;
afterEach(() => server?.close());

async function registry(answer: RequestListener): Promise<string> {
  server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function credentials(auths: Record<string, object>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gx-auths-'));
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ auths }));
  return folder;
}

const digest = `sha256:${'a'.repeat(64)}`;

test.each([
  ['debian', { host: 'docker.io', repository: 'library/debian' }],
  ['gx/agent:1', { host: 'docker.io', repository: 'gx/agent', tag: '1' }],
  ['localhost/a', { host: 'localhost', repository: 'a' }],
  [
    'registry.example.com:5000/a/b_c/d:v1',
    { host: 'registry.example.com:5000', repository: 'a/b_c/d', tag: 'v1' },
  ],
  [`registry.example.com/a@${digest}`, { host: 'registry.example.com', repository: 'a', digest }],
])('%s names an image', (name, reference) => {
  expect(parseImageReference(name)).toEqual(reference);
});

test.each([
  '',
  'A/b',
  'registry.example.com/',
  'a:b:c',
  'a@sha256:12',
  'registry.example.com:x/a',
  'a/../b',
])('%j names none', (name) => {
  expect(parseImageReference(name)).toBeUndefined();
});

test('config.json names registries in several ways', () => {
  const folder = credentials({
    'https://index.docker.io/v1/': { username: 'me', password: 'p' },
    'registry.example.com': { auth: 'eDp5' },
    'other.example.com:5000': { identitytoken: 'i' },
  });
  expect(findCredential(folder, 'docker.io', 'a/b')).toEqual({
    basic: Buffer.from('me:p').toString('base64'),
  });
  expect(findCredential(folder, 'registry.example.com', 'a/b')).toEqual({ basic: 'eDp5' });
  expect(findCredential(folder, 'other.example.com:5000', 'a/b')).toEqual({ identityToken: 'i' });
  expect(findCredential(folder, 'registry.example.com.evil.com', 'a/b')).toEqual({});
});

const robots = (...keys: string[]): string =>
  credentials(Object.fromEntries(keys.map((key) => [key, { username: 'robot', password: key }])));

const shown = (folder: string, image: string): string => {
  const { host, repository } = parseImageReference(image)!;
  const { basic = '' } = findCredential(folder, host, repository);
  return Buffer.from(basic, 'base64').toString().replace('robot:', '');
};

test.each([
  ['quay.io/org-b/agent', ['quay.io/org-a', 'quay.io/org-b'], 'quay.io/org-b'],
  ['r.example.com/agents/one', ['r.example.com/base', 'r.example.com'], 'r.example.com'],
  ['r.example.com/base/image', ['r.example.com', 'r.example.com/base'], 'r.example.com/base'],
  ['mine.azurecr.io/agent', ['*.azurecr.io'], '*.azurecr.io'],
  ['mine.azurecr.io/agent', ['*.azurecr.io', 'mine.azurecr.io'], 'mine.azurecr.io'],
  ['a.b.azurecr.io/agent', ['*.azurecr.io'], ''],
  ['mine.azurecr.io.evil.com/agent', ['*.azurecr.io'], ''],
  ['r.example.com/agent', ['r.example.com:443'], 'r.example.com:443'],
  ['r.example.com:443/agent', ['https://r.example.com'], 'https://r.example.com'],
  ['r.example.com:5000/agent', ['r.example.com'], ''],
  [
    'acct.dkr.ecr.eu-west-1.amazonaws.com/agent',
    ['*.dkr.ecr.*.amazonaws.com'],
    '*.dkr.ecr.*.amazonaws.com',
  ],
  ['gx/agent', ['https://index.docker.io/v1/'], 'https://index.docker.io/v1/'],
  ['gx/agent', ['https://index.docker.io/v1/', 'docker.io/gx'], 'docker.io/gx'],
])('for %s of %j the credential of %j is shown', (image, keys, wanted) => {
  expect(shown(robots(...keys), image)).toBe(wanted);
});

test('a registry is shown the credential of each repository', async () => {
  const host = await registry((request, response) => {
    const wanted = request.url?.startsWith('/v2/base/') === true ? 'reader' : 'writer';
    const given = Buffer.from((request.headers.authorization ?? '').slice(6), 'base64').toString();
    if (given === `${wanted}:p`) return void response.end('yes');
    response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end();
  });
  const folder = credentials({
    [`${host}/base`]: { username: 'reader', password: 'p' },
    [host]: { username: 'writer', password: 'p' },
  });
  const ask = askRegistries({
    plainHosts: [host],
    credentials: folder,
    signal: new AbortController().signal,
  });
  for (const path of [
    '/v2/base/manifests/1',
    '/v2/agents/one/manifests/1',
    '/v2/base/blobs/x',
    '/v2/agents/one/blobs/uploads/',
  ])
    expect((await ask(host, path)).status).toBe(200);
});

test('a registry with a token service is asked with a token for each repository', async () => {
  const asked: string[] = [];
  const host = await registry((request, response) => {
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
    if (url.pathname === '/token') {
      asked.push(
        `${url.searchParams.getAll('scope').join(' and ')} as ${Buffer.from(request.headers.authorization!.slice(6), 'base64').toString()}`,
      );
      return void response.end(JSON.stringify({ token: url.searchParams.getAll('scope').join() }));
    }
    const scope = `repository:${url.pathname.split('/')[2]}:pull,repository:x:pull`;
    if (request.headers.authorization === `Bearer ${scope}`) return void response.end('yes');
    const named = scope.replace(',', ' ');
    response
      .writeHead(401, {
        'www-authenticate': `Bearer realm="http://${request.headers.host}/token",service="s",scope="${named}"`,
      })
      .end();
  });
  const settings = {
    plainHosts: [host],
    credentials: credentials({ [host]: { username: 'me', password: 'p' } }),
  };
  const ask = askRegistries({ ...settings, signal: new AbortController().signal });
  for (const name of ['one', 'one', 'two'])
    expect(await (await ask(host, `/v2/${name}/manifests/1`)).text()).toBe('yes');
  expect(asked).toEqual([
    'repository:one:pull and repository:x:pull as me:p',
    'repository:two:pull and repository:x:pull as me:p',
  ]);
});

test('a registry that is busy is asked again', async () => {
  let left = 2;
  const host = await registry(
    (_request, response) => void response.writeHead(left-- > 0 ? 503 : 200).end(),
  );
  const ask = askRegistries({
    plainHosts: [host],
    credentials: '/nowhere',
    signal: new AbortController().signal,
  });
  expect((await ask(host, '/v2/')).status).toBe(200);
});

test('ssh knows the host by known_hosts alone, and asks nobody', () => {
  const [folder, scratch] = [
    mkdtempSync(join(tmpdir(), 'gx-ssh-')),
    join(tmpdir(), 'gx-ssh-scratch'),
  ];
  expect(() => showGitCredential(folder, 'git@example.com:a/b', scratch)).toThrow('ssh-privatekey');
  writeFileSync(join(folder, 'ssh-privatekey'), sshKeys().private);
  expect(() => showGitCredential(folder, 'git@example.com:a/b', scratch)).toThrow('known_hosts');
  writeFileSync(join(folder, 'known_hosts'), 'hosts\n');
  const { env } = showGitCredential(folder, 'ssh://git@example.com/a/b', scratch);
  expect(env['GIT_SSH_COMMAND']).toMatch(
    /-F \/dev\/null .*BatchMode=yes.*StrictHostKeyChecking=yes/,
  );
  expect(env['GIT_SSH_COMMAND']).toContain(`UserKnownHostsFile=${folder}/known_hosts`);
});
