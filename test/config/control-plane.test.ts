import { expect, test } from 'vitest';
import { controlPlaneConfig, DEFAULT_TENANT_ID } from '../../src/config/control-plane.ts';

const INTEGRATION = { id: '22222222-2222-4222-8222-222222222222', name: 'acme', installation_id: 7 };

test('without any setting the control plane is self-hosted, for the whole cluster, and grants nothing', () => {
  expect(controlPlaneConfig({})).toMatchObject({
    hosting: 'self-hosted',
    namespaces: [],
    grants: [],
    gitIntegrations: [],
    defaultTenantId: DEFAULT_TENANT_ID,
    bodyLimit: 5_000_000,
  });
});

test('each setting is read', () => {
  const env = {
    GX_HOSTING: 'cloud',
    GX_WATCH_NAMESPACES: 'a, b,',
    GX_REST_ALLOW: 'secrets,claims',
    GX_NAMESPACE: 'gx',
    GX_GIT_INTEGRATIONS: JSON.stringify([INTEGRATION]),
    GX_DEFAULT_TENANT_ID: 'AAAAAAAA-0000-4000-8000-000000000000',
  };
  expect(controlPlaneConfig(env)).toMatchObject({
    hosting: 'cloud',
    namespaces: ['a', 'b'],
    grants: ['secrets', 'claims'],
    namespace: 'gx',
    gitIntegrations: [INTEGRATION],
    defaultTenantId: 'aaaaaaaa-0000-4000-8000-000000000000',
  });
});

test.each([
  ['GX_HOSTING', 'moon'],
  ['GX_SERVER_PORT', '99999'],
  ['GX_REST_ALLOW', 'secrets,everything'],
  ['GX_DEFAULT_TENANT_ID', 'me'],
  ['GX_GIT_INTEGRATIONS', '{'],
  ['GX_GIT_INTEGRATIONS', '[{"id":"x"}]'],
])('%s=%s is refused by name', (name, value) => {
  expect(() => controlPlaneConfig({ [name]: value })).toThrow(
    expect.objectContaining({ name: 'StartError', message: expect.stringContaining(name) }),
  );
});
