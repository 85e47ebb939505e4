import { expect, test } from 'vitest';
import { creation, startPlane, TENANT_A, TENANT_B } from '../kit/api-server-plane.ts';

const integration = {
  id: '22222222-2222-4222-8222-222222222222',
  name: 'acme',
  installation_id: 7,
};
const repo = {
  id: 12,
  name: 'agent',
  owner: 'acme',
  url: 'https://git.example/acme/agent',
  default_branch: 'main',
};
const withRepos = { ...integration, id: '33333333-3333-4333-8333-333333333333', repos: [repo] };

test.each([
  ['none', []],
  ['one', [integration]],
])(
  'the connections to a git host that are configured are listed: %s',
  async (_, gitIntegrations) => {
    const plane = await startPlane('integrations', { gitIntegrations });
    const { status, body } = await plane.call('GET', '/v1/integrations/git/install', {
      key: plane.keys.read,
    });
    expect([status, body]).toEqual([200, gitIntegrations]);
    await plane.stop();
  },
);

test('the repositories of a connection are listed under both words for the host', async () => {
  const plane = await startPlane('repositories', { gitIntegrations: [integration, withRepos] });
  const repos = (id: string, path = '/v1/integrations/git') =>
    plane.call('GET', `${path}/${id}/repos`, { key: plane.keys.read });
  const listed = [{ host_integration_id: withRepos.id, ...repo }];
  expect(await repos(withRepos.id)).toMatchObject({ status: 200, body: listed });
  expect(await repos(withRepos.id, '/api-host/v1/integrations/github')).toMatchObject({
    status: 200,
    body: listed,
  });
  expect(await repos(integration.id)).toMatchObject({ status: 200, body: [] });
  expect((await plane.call('GET', '/v1/integrations/git/install')).body).toEqual([
    integration,
    { ...integration, id: withRepos.id },
  ]);
  const missing = '44444444-4444-4444-8444-444444444444';
  expect(await repos(missing)).toMatchObject({
    status: 404,
    body: { detail: `Integration ID ${missing} not found.` },
  });
  expect((await repos('acme')).status).toBe(422);
  await plane.stop();
});

test('a connection is seen and used by its own tenant alone', async () => {
  const theirs = {
    ...integration,
    id: '55555555-5555-4555-8555-555555555555',
    tenant_id: TENANT_B,
    repos: [repo],
  };
  const plane = await startPlane('integration-tenants', {
    hosting: 'cloud',
    gitIntegrations: [{ ...withRepos, tenant_id: TENANT_A }, theirs],
  });
  const listed = async (key: string) =>
    (await plane.call<{ id: string }[]>('GET', '/v1/integrations/git/install', { key })).body;
  expect((await listed(plane.keys.read)).map(({ id }) => id)).toEqual([withRepos.id]);
  expect((await listed(plane.keys.other)).map(({ id }) => id)).toEqual([theirs.id]);
  expect(await plane.call('GET', `/v1/integrations/git/${theirs.id}/repos`)).toMatchObject({
    status: 404,
    body: { detail: `Integration ID ${theirs.id} not found.` },
  });
  const body = creation('stolen', {
    source: 'git',
    source_config: { integration_id: theirs.id, repo_url: repo.url },
    source_revision_config: { repo_ref: 'main', gx_config_path: 'gx.json' },
  });
  expect(await plane.call('POST', '/v2/deployments', { body })).toMatchObject({
    status: 400,
    body: { detail: 'source_config.integration_id: no integration has this id' },
  });
  await plane.stop();
});
