import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { shownCredential } from '../../src/builder/clone/credentials.ts';
import { askRegistries } from '../../src/builder/registry/client.ts';
import { credentialFor } from '../../src/builder/registry/client.ts';
import { imageReference } from '../../src/builder/registry/reference.ts';

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
  ['registry.example.com:5000/a/b_c/d:v1', { host: 'registry.example.com:5000', repository: 'a/b_c/d', tag: 'v1' }],
  [`registry.example.com/a@${digest}`, { host: 'registry.example.com', repository: 'a', digest }],
])('%s names an image', (name, reference) => {
  expect(imageReference(name)).toEqual(reference);
});

test.each(['', 'A/b', 'registry.example.com/', 'a:b:c', 'a@sha256:12', 'registry.example.com:x/a', 'a/../b'])('%j names none', (name) => {
  expect(imageReference(name)).toBeUndefined();
});

test('config.json names registries in several ways', () => {
  const folder = credentials({
    'https://index.docker.io/v1/': { username: 'me', password: 'p' },
    'registry.example.com': { auth: 'eDp5' },
    'other.example.com:5000': { identitytoken: 'i' },
  });
  expect(credentialFor(folder, 'docker.io')).toEqual({ basic: Buffer.from('me:p').toString('base64') });
  expect(credentialFor(folder, 'registry.example.com')).toEqual({ basic: 'eDp5' });
  expect(credentialFor(folder, 'other.example.com:5000')).toEqual({ identityToken: 'i' });
  expect(credentialFor(folder, 'registry.example.com.evil.com')).toEqual({});
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
      .writeHead(401, { 'www-authenticate': `Bearer realm="http://${request.headers.host}/token",service="s",scope="${named}"` })
      .end();
  });
  const settings = { plainHosts: [host], credentials: credentials({ [host]: { username: 'me', password: 'p' } }) };
  const ask = askRegistries({ ...settings, signal: new AbortController().signal });
  for (const name of ['one', 'one', 'two']) expect(await (await ask(host, `/v2/${name}/manifests/1`)).text()).toBe('yes');
  expect(asked).toEqual(['repository:one:pull and repository:x:pull as me:p', 'repository:two:pull and repository:x:pull as me:p']);
});

test('a registry that is busy is asked again', async () => {
  let left = 2;
  const host = await registry((_request, response) => void response.writeHead(left-- > 0 ? 503 : 200).end());
  const ask = askRegistries({ plainHosts: [host], credentials: '/nowhere', signal: new AbortController().signal });
  expect((await ask(host, '/v2/')).status).toBe(200);
});

test('ssh knows the host by known_hosts alone, and asks nobody', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gx-ssh-'));
  expect(() => shownCredential(folder, 'git@example.com:a/b')).toThrow('ssh-privatekey');
  writeFileSync(join(folder, 'ssh-privatekey'), 'key');
  expect(() => shownCredential(folder, 'git@example.com:a/b')).toThrow('known_hosts');
  writeFileSync(join(folder, 'known_hosts'), 'hosts');
  const { env } = shownCredential(folder, 'ssh://git@example.com/a/b');
  expect(env['GIT_SSH_COMMAND']).toMatch(/-F \/dev\/null .*BatchMode=yes.*StrictHostKeyChecking=yes/);
  expect(env['GIT_SSH_COMMAND']).toContain(`UserKnownHostsFile=${folder}/known_hosts`);
});
