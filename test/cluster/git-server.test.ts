import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGitServer } from '../../dev/cluster/native/git-server/server.ts';
import type { GitHost } from '../../dev/cluster/provider.ts';
import { runProcess } from '../../dev/commands.ts';
import {
  commitFiles,
  createRepository,
  ensureGitAccount,
  createPushHook,
  type GitAccount,
  type Repository,
} from '../../dev/run/git-host.ts';
import { fetchHeadCommit } from '../../src/git/ls-refs.ts';
import { buildGitPlaces } from '../../src/git/places.ts';
import { isSignedBy, parsePush } from '../../src/git/push-event.ts';
import { listGitRepositories } from '../../src/git/repositories.ts';
import { Lookups } from '../../src/http/outgoing/lookups.ts';

/* The git host of a native cluster, asked by git, by the client of `make run-git`, and by the platform's readers. */

const { signal } = new AbortController();
const SECRET = 'sixteen characters';
const work = mkdtempSync(join(tmpdir(), 'gx-git-server-'));
const credential = { user: 'gx', token: 'the-token' };
const server = createGitServer({ folder: join(work, 'repositories'), account: credential });
const events: { headers: IncomingHttpHeaders; body: Buffer }[] = [];
const receiver = createServer((request, response) => {
  void buffer(request).then((body) => {
    events.push({ headers: request.headers, body });
    return response.writeHead(200).end();
  });
});
let host: GitHost;
let account: GitAccount;
let repository: Repository;

const urlOf = ({ address }: typeof server): string =>
  `http://127.0.0.1:${(address.call(server) as AddressInfo).port}`;

beforeAll(async () => {
  for (const one of [server, receiver]) await once(one.listen(0, '127.0.0.1'), 'listening');
  const url = urlOf(server);
  const peer = { cidr: '127.0.0.1/32', port: 0 };
  host = {
    kind: 'github',
    name: new URL(url).host,
    url,
    peer,
    nodeAddress: '127.0.0.1',
    account: () => Promise.resolve(credential),
  };
  account = await ensureGitAccount(host);
  repository = await createRepository(account, 'hello', {
    'graph.js': 'one',
    'deep/word.js': 'first',
    '.gitignore': 'deep',
  });
  await createPushHook(account, 'hello', {
    url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/push`,
    secret: SECRET,
  });
});
afterAll(() => {
  for (const one of [server, receiver]) one.closeAllConnections();
  for (const one of [server, receiver]) one.close();
  rmSync(work, { recursive: true });
});

const places = () => buildGitPlaces({ gitHosts: [host.url], gitIntegrations: [] }, new Lookups());

test('a repository has the files that it was made with, and is not made again', async () => {
  const folder = join(work, 'clone');
  await runProcess('git', ['clone', '--quiet', repository.pushUrl, folder]);
  expect(readFileSync(join(folder, 'deep/word.js'), 'utf8')).toBe('first');
  expect(await createRepository(account, 'hello', { 'graph.js': 'other' })).toEqual(repository);
  await runProcess('git', ['-C', folder, 'pull', '--quiet']);
  expect(readFileSync(join(folder, 'graph.js'), 'utf8')).toBe('one');
});

test('a push is reported in the form of GitHub, signed, as the control plane reads it', async () => {
  const commit = await commitFiles(account, {
    name: 'hello',
    message: 'A change',
    files: { 'deep/word.js': 'second' },
  });
  const [event] = events.splice(0);
  expect(isSignedBy(SECRET, 'github', event!)).toBe(true);
  expect(isSignedBy('another secret here', 'github', event!)).toBe(false);
  expect(parsePush('github', event!.headers, JSON.parse(event!.body.toString()))).toEqual({
    branch: 'main',
    commit,
    repository: 'gx/hello',
  });
  const authorization = `Basic ${btoa(`x-access-token:${credential.token}`)}`;
  expect(
    await fetchHeadCommit(
      { host: host.url, url: `${host.url}/gx/hello`, places: places(), authorization },
      'main',
      signal,
    ),
  ).toBe(commit);
});

test('a branch that is deleted is reported, and means no revision', async () => {
  const folder = join(work, 'clone');
  await runProcess('git', ['-C', folder, 'push', '--quiet', 'origin', 'HEAD:refs/heads/aside']);
  await runProcess('git', ['-C', folder, 'push', '--quiet', 'origin', ':refs/heads/aside']);
  const read = events
    .splice(0)
    .map(({ headers, body }) => parsePush('github', headers, JSON.parse(body.toString())));
  expect(read).toEqual([
    expect.objectContaining({ branch: 'aside' }),
    { ignored: 'The branch was deleted.' },
  ]);
});

test('a receiver that is away does not refuse the push', async () => {
  await createRepository(account, 'alone', { 'graph.js': 'one' });
  await createPushHook(account, 'alone', { url: 'http://127.0.0.1:1/push', secret: SECRET });
  expect(
    await commitFiles(account, {
      name: 'alone',
      message: 'A change',
      files: { 'graph.js': 'two' },
    }),
  ).toMatch(/^[0-9a-f]{40}$/);
});

test('the platform lists the repositories by the API of GitHub', async () => {
  const integration = { kind: 'github', host: host.url } as Parameters<
    typeof listGitRepositories
  >[0]['integration'];
  const token = { token: credential.token } as Parameters<typeof listGitRepositories>[0]['token'];
  const listed = await listGitRepositories({ integration, token, places: places(), signal });
  expect(listed.map(({ owner, name }) => `${owner}/${name}`).toSorted()).toEqual([
    'gx/alone',
    'gx/hello',
  ]);
});

test.each([
  ['git', '/gx/hello.git/info/refs?service=git-upload-pack', 401],
  ['the API', '/api/v3/user/repos', 401],
])('%s asks for the token', async (_, path, status) => {
  expect((await fetch(`${host.url}${path}`)).status).toBe(status);
  expect(
    (await fetch(`${host.url}${path}`, { headers: { authorization: `Basic ${btoa('gx:wrong')}` } }))
      .status,
  ).toBe(status);
});

test.each([
  '/gx/other.git/info/refs',
  '/other/hello.git/info/refs',
  '/gx/hello.git/push-events.json',
  '/gx/hello.git/config',
])('%s is not there', async (path) => {
  expect(
    (await fetch(`${host.url}${path}`, { headers: { authorization: `token ${credential.token}` } }))
      .status,
  ).toBe(404);
});
