import { afterAll, beforeAll, expect, test } from 'vitest';
import { requireAllowedHost } from '../../../src/control-plane/git/connections.ts';
import type { GitIntegrationRequest } from '../../../src/control-plane/git/resource.ts';
import { Lookups } from '../../../src/http/outgoing/lookups.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import { startGitHostStub, type GitHostStub } from '../../kit/git-host-stub.ts';
import { startGitHubAppStub, type GitHubAppStub } from '../../kit/github-app-stub.ts';
import { until } from '../../kit/until.ts';
import { creation, startPlane, TENANT_A, type Plane } from '../kit/api-server-plane.ts';

type Connection = { id: string; [field: string]: unknown };
const REPOSITORIES = ['acme/one', 'acme/two', 'acme/three', 'other/four', 'acme/five'].map(
  (path, index) => ({
    id: index + 1,
    path,
    branch: 'main',
  }),
);
const HOSTS = ['github', 'gitlab', 'gitea'] as const;
const SECRET = 'ghp_a-token-that-nobody-reads';

let stubs: GitHostStub[];
let app: GitHubAppStub;
let plane: Plane;
beforeAll(async () => {
  stubs = await Promise.all(HOSTS.map((kind) => startGitHostStub(kind, REPOSITORIES)));
  app = await startGitHubAppStub([{ id: 9, full_name: 'acme/nine', default_branch: 'trunk' }]);
  const gitHosts = [
    ...stubs.map(({ url }) => url),
    app.url,
    'https://github.com',
    'http://127.0.0.1:1',
  ];
  plane = await startPlane('connections', { hosting: 'both', gitHosts, gitNamespace: 'default' });
});
afterAll(async () => {
  await plane.stop();
  await Promise.all([...stubs, app].map((stub) => stub.stop()));
});

const connect = (body: object, key = plane.keys.admin) =>
  plane.call<Connection & { detail: string }>('POST', '/v1/integrations/git', {
    key,
    body: { name: 'acme', kind: 'github', ...body },
  });
const repositories = (id: string) =>
  plane.call<{ name: string }[]>('GET', `/v1/integrations/git/${id}/repos`, {
    key: plane.keys.read,
  });

test.each(HOSTS.map((kind, index) => [kind, index] as const))(
  'the repositories of %s are listed page by page, as the patterns narrow them',
  async (kind, index) => {
    const { url: host, asked } = stubs[index]!;
    const made = await connect({
      kind,
      host,
      repositories: ['acme/*'],
      credential: { token: SECRET },
      installation_id: 7,
    });
    expect(made).toMatchObject({
      status: 201,
      body: { kind, host, has_credential: true, takes_pushes: false, tenant_id: TENANT_A },
    });
    const listed = await repositories(made.body.id);
    expect(listed.status).toBe(200);
    expect(listed.body.map(({ name }) => name)).toEqual(['one', 'two', 'three', 'five']);
    expect(listed.body[0]).toEqual({
      host_integration_id: made.body.id,
      id: 1,
      name: 'one',
      owner: 'acme',
      url: `${host}/acme/one`,
      default_branch: 'main',
    });
    expect(asked.map(({ authorization }) => authorization)).toEqual(
      asked.map(() => `${kind === 'gitea' ? 'token' : 'Bearer'} ${SECRET}`),
    );
    const install = await plane.call<Connection[]>('GET', '/v1/integrations/git/install', {
      key: plane.keys.read,
    });
    expect(install.body).toContainEqual({ id: made.body.id, name: 'acme', installation_id: 7 });
  },
);

test('the repositories of a GitHub App are listed with a fresh token of it, and its key stays with the credentials', async () => {
  const { appId, installationId, privateKey } = app.app;
  const credential = {
    app_id: appId,
    app_installation_id: installationId,
    private_key: privateKey,
  };
  const { status, body } = await connect({ host: app.url, credential });
  expect(status).toBe(201);
  for (const count of [1, 2]) {
    const listed = await repositories(body.id);
    expect(listed.body).toMatchObject([
      { id: 9, owner: 'acme', name: 'nine', url: `${app.url}/acme/nine`, default_branch: 'trunk' },
    ]);
    expect(app.given).toHaveLength(count);
  }
  expect(JSON.stringify(body) + plane.logged()).not.toMatch(/PRIVATE KEY|ghs_/);
});

test('a host that is away, or that refuses the credential, is told as such', async () => {
  const [stub] = stubs;
  const { body } = await connect({ host: stub!.url, credential: { token: SECRET } });
  stub!.fail(401);
  expect(await repositories(body.id)).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('refuses the credential') },
  });
  stub!.fail(500);
  expect(await repositories(body.id)).toMatchObject({
    status: 503,
    body: { detail: expect.stringContaining('answers with status 500') },
  });
  stub!.fail(undefined);
  const away = await connect({ host: 'http://127.0.0.1:1', credential: { token: SECRET } });
  expect(await repositories(away.body.id)).toMatchObject({
    status: 503,
    body: { detail: expect.stringContaining('does not answer') },
  });
});

test('secrets are kept in the namespace of git credentials, shown nowhere, and go with their connection', async () => {
  const made = await connect({
    credential: { token: SECRET },
    webhook_secret: 'sixteen characters',
  });
  expect(made).toMatchObject({
    status: 201,
    body: { takes_pushes: true, push_path: `/v1/integrations/git/${made.body.id}/push` },
  });
  const all = await plane.call<Connection[]>('GET', '/v1/integrations/git', {
    key: plane.keys.admin,
  });
  expect(JSON.stringify([made.body, all.body])).not.toMatch(/ghp_|sixteen/);
  expect(plane.logged()).not.toMatch(/ghp_|sixteen/);
  const { metadata, spec } = (
    await plane.kube.listAll(kinds.gitIntegration, { namespace: plane.namespace })
  ).find((one) => one.metadata.uid === made.body.id)!;
  expect(spec).toMatchObject({
    credentialSecret: `${metadata.name}-credential`,
    webhookSecret: `${metadata.name}-webhook`,
    tenantId: TENANT_A,
  });
  const secret = (name: string) => plane.kube.find(kinds.secret, { namespace: 'default', name });
  expect(
    Buffer.from(
      (await secret(`${metadata.name}-credential`))?.data?.token ?? '',
      'base64',
    ).toString(),
  ).toBe(SECRET);
  const remove = (key: string) =>
    plane.call('DELETE', `/v1/integrations/git/${made.body.id}`, { key });
  expect((await remove(plane.keys.write)).status).toBe(403);
  expect((await remove(plane.keys.otherAdmin)).status).toBe(404);
  expect((await remove(plane.keys.admin)).status).toBe(204);
  expect(await secret(`${metadata.name}-credential`)).toBeUndefined();
  expect(await secret(`${metadata.name}-webhook`)).toBeUndefined();
  expect((await remove(plane.keys.admin)).status).toBe(404);
});

const repo = (url: string) => ({ id: 1, name: 'x', owner: 'x', url, default_branch: 'main' });

test('a listed host may be named by its API and by repositories over https and ssh, whatever its address', async () => {
  const repos = [
    'https://github.com/acme/one',
    'git@github.com:acme/two',
    'ssh://git@github.com/acme/three',
  ].map(repo);
  expect((await connect({ api_url: 'https://api.github.com', repos })).status).toBe(201);
  expect((await connect({ host: stubs[0]!.url, api_url: `${stubs[0]!.url}/api/v3` })).status).toBe(
    201,
  );
});

test.each([
  ['host', 'a host of plain http', { host: 'http://git.example' }],
  ['host', 'an address of the cluster', { host: 'https://10.96.0.1' }],
  ['host', "the machine's own address by a name", { host: 'https://localhost:8443' }],
  [
    'host',
    'an address that stands for a private one',
    { kind: 'gitea', host: 'https://2130706433' },
  ],
  ['api_url', 'the metadata of a cloud', { api_url: 'https://169.254.169.254' }],
  [
    'repos.0.url',
    'a listed repository at a private address',
    { repos: [repo('https://192.168.1.1/x/y')] },
  ],
  ['repos.0.url', 'a listed repository of plain http', { repos: [repo('http://github.com/x/y')] }],
  [
    'repos.0.url',
    'a listed repository over ssh at a private address',
    { repos: [repo('git@10.0.0.9:x/y')] },
  ],
])('where no hosts are listed, %s refuses %s', async (field, _what, body) => {
  const asked = { name: 'acme', kind: 'github', ...body } as GitIntegrationRequest;
  await expect(requireAllowedHost(asked, [], new Lookups())).rejects.toThrow(
    new RegExp(`^${field.replaceAll('.', '\\.')}: .*(must use https|no public address)`),
  );
});

test.each([
  ['a credential of no form', { credential: { username: 'me' } }, /^credential: /],
  ['half a GitHub App', { credential: { app_id: '1', private_key: 'x' } }, /^credential: /],
  [
    'two credentials',
    { credential: { token: 'x', ssh_private_key: 'y', known_hosts: 'z' } },
    /^credential: /,
  ],
  [
    'a host that the installation does not name',
    { host: 'https://evil.example' },
    /^host: this installation allows /,
  ],
  [
    'an API at another place',
    { api_url: 'http://10.96.0.1:443' },
    /^api_url: this installation allows /,
  ],
  [
    'an API of the host by another protocol',
    { api_url: 'http://github.com/api' },
    /^api_url: this installation allows /,
  ],
  [
    'a repository at another place',
    { repos: [repo('http://10.0.0.9:8080/x/y')] },
    /^repos\.0\.url: this installation allows /,
  ],
  [
    'a repository of an ssh host that is not named',
    { repos: [repo('git@evil.example:x/y')] },
    /^repos\.0\.url: this /,
  ],
  ['gitea without a host', { kind: 'gitea' }, /^host: required for kind gitea/],
])('%s is refused', async (_, body, detail) => {
  expect(await connect(body)).toMatchObject({
    status: 400,
    body: { detail: expect.stringMatching(detail) },
  });
});

test.each([
  ['a host of another protocol', { host: 'file:///etc' }],
  ['a pattern that leaves the host', { repositories: ['../x y'] }],
  ['a short webhook secret', { webhook_secret: 'short' }],
  ['an unknown field', { secret: 'x' }],
])('%s is no connection', async (_, body) => {
  expect((await connect(body)).status).toBe(422);
});

test('a write key makes no connection', async () => {
  expect((await connect({}, plane.keys.write)).status).toBe(403);
});

test('a deployment is made from a repository of its connection alone, and holds the connection', async () => {
  const { body: connection } = await connect({ repositories: ['acme/*'] });
  const from = (name: string, repo_url: string) =>
    plane.call<{ detail: string }>('POST', '/v2/deployments', {
      body: creation(name, {
        source: 'git',
        source_config: { integration_id: connection.id, repo_url },
        source_revision_config: { repo_ref: 'main', gx_config_path: 'gx.json' },
      }),
    });
  expect(await from('elsewhere', 'https://github.com/other/agent')).toMatchObject({
    status: 400,
    body: {
      detail: expect.stringMatching(
        /^source_config.repo_url: is not a repository of the integration acme/,
      ),
    },
  });
  expect((await from('bound', 'https://github.com/acme/agent')).status).toBe(201);
  const remove = () =>
    plane.call<{ detail: string }>('DELETE', `/v1/integrations/git/${connection.id}`, {
      key: plane.keys.admin,
    });
  expect(await remove()).toMatchObject({
    status: 409,
    body: { detail: 'The deployment bound is built with this integration.' },
  });
});

test('a connection that kubectl made is there, by the id that it names', async () => {
  const id = '77777777-7777-4777-8777-777777777777';
  await plane.kube.create(kinds.gitIntegration, {
    apiVersion: API_VERSION,
    kind: 'GitIntegration',
    metadata: { name: 'by-hand', namespace: plane.namespace },
    spec: { id, name: 'by hand', kind: 'generic', host: 'https://git.example' },
  });
  await until('it is listed', async () => (await repositories(id)).status === 200);
  expect((await repositories(id)).body).toEqual([]);
});

test('a connection that kubectl made to a private address is not asked there, because the installation lists no such host', async () => {
  const [stub] = stubs;
  const id = '88888888-8888-4888-8888-888888888888';
  const host = stub!.url.replace('127.0.0.1', 'localhost');
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `token-${plane.namespace}`, namespace: 'default' },
  };
  await plane.kube.create(kinds.secret, { ...secret, stringData: { token: SECRET } });
  await plane.kube.create(kinds.gitIntegration, {
    apiVersion: API_VERSION,
    kind: 'GitIntegration',
    metadata: { name: 'inside', namespace: plane.namespace },
    spec: { id, name: 'inside', kind: 'github', host, credentialSecret: secret.metadata.name },
  });
  const before = stub!.asked.length;
  await until('it is known', async () => (await repositories(id)).status !== 404);
  expect(await repositories(id)).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('leads to a loopback address') },
  });
  expect(stub!.asked).toHaveLength(before);
});

test('both sources of deployments are taken where the hosting is both', async () => {
  expect((await plane.call('POST', '/v2/deployments', { body: creation('image') })).status).toBe(
    201,
  );
});
