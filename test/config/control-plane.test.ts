import { expect, test } from 'vitest';
import {
  readControlPlaneConfig,
  DEFAULT_TENANT_ID,
} from '../../src/config/platform/control-plane.ts';

const INTEGRATION = {
  id: '22222222-2222-4222-8222-222222222222',
  name: 'acme',
  installation_id: 7,
};

test('without any setting the control plane is self-hosted, for the whole cluster, and grants nothing', () => {
  expect(readControlPlaneConfig({})).toMatchObject({
    hosting: 'self-hosted',
    namespaces: [],
    grants: [],
    gitIntegrations: [],
    defaultTenantId: DEFAULT_TENANT_ID,
    body: { bytes: 1_048_576, selectionBytes: 1_048_576, values: 100_000, listItems: 1000 },
    limits: { streamsPerKey: 100, streamsPerTenant: 400, failedLoginsPerMinute: 600 },
  });
});

test('each setting is read', () => {
  const env = {
    GX_HOSTING: 'cloud',
    GX_WATCH_NAMESPACES: 'a, b,',
    GX_REST_ALLOW: 'secrets,claims',
    GX_NAMESPACE: 'gx',
    GX_GIT_INTEGRATIONS: JSON.stringify([INTEGRATION]),
    GX_STREAMS_PER_KEY: '3',
    GX_STREAMS_PER_TENANT: '0',
    GX_TRUSTED_PROXIES: '10.0.0.0/8, fd00::7',
    GX_DEFAULT_TENANT_ID: 'AAAAAAAA-0000-4000-8000-000000000000',
  };
  expect(readControlPlaneConfig(env)).toMatchObject({
    hosting: 'cloud',
    namespaces: ['a', 'b'],
    grants: ['secrets', 'claims'],
    namespace: 'gx',
    gitIntegrations: [INTEGRATION],
    limits: { streamsPerKey: 3, streamsPerTenant: 0 },
    trustedProxies: ['10.0.0.0/8', 'fd00::7'],
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
  ['GX_GIT_INTEGRATIONS', JSON.stringify([{ ...INTEGRATION, tenant_id: 'me' }])],
  ['GX_GIT_INTEGRATIONS', JSON.stringify([{ ...INTEGRATION, repos: [{ id: 1, name: 'agent' }] }])],
])('%s=%s is refused by name', (name, value) => {
  expect(() => readControlPlaneConfig({ [name]: value })).toThrow(
    expect.objectContaining({ name: 'StartError', message: expect.stringContaining(name) }),
  );
});

const OIDC = { GX_OIDC_ISSUER: 'https://login.example', GX_OIDC_AUDIENCE: 'gx, api' };

test('bearer tokens are accepted of the issuer that is set, by RS256 and ES256, with a tenant and a role in claims', () => {
  expect(readControlPlaneConfig({}).oidc).toBeUndefined();
  expect(readControlPlaneConfig(OIDC).oidc).toEqual({
    issuer: 'https://login.example',
    audiences: ['gx', 'api'],
    jwksUrl: undefined,
    algorithms: ['RS256', 'ES256'],
    clockSkewSeconds: 30,
    tenant: { claim: 'tenant_id' },
    roleClaim: 'role',
    adminValues: ['admin'],
    writeValues: ['write'],
    readValues: ['read'],
  });
});

test.each<[string, Record<string, string>]>([
  ['GX_OIDC_AUDIENCE', { GX_OIDC_ISSUER: 'https://login.example' }],
  ['GX_OIDC_AUDIENCE', { GX_OIDC_AUDIENCE: 'gx' }],
  ['GX_OIDC_ISSUER', { ...OIDC, GX_OIDC_ISSUER: 'http://login.example' }],
  ['GX_OIDC_JWKS_URL', { ...OIDC, GX_OIDC_JWKS_URL: 'keys' }],
  ['GX_OIDC_ALGORITHMS', { ...OIDC, GX_OIDC_ALGORITHMS: 'none' }],
  ['GX_OIDC_ALGORITHMS', { ...OIDC, GX_OIDC_ALGORITHMS: 'RS256,HS256' }],
  ['GX_OIDC_TENANT_ID', { ...OIDC, GX_OIDC_TENANT_ID: 'me' }],
  [
    'GX_OIDC_TENANT_CLAIM',
    { ...OIDC, GX_OIDC_TENANT_ID: DEFAULT_TENANT_ID, GX_OIDC_TENANT_CLAIM: 'org' },
  ],
  ['GX_OIDC_CLOCK_SKEW_SECONDS', { ...OIDC, GX_OIDC_CLOCK_SKEW_SECONDS: '3600' }],
])('%s is refused by name in %j', (name, env) => {
  expect(() => readControlPlaneConfig(env)).toThrow(
    expect.objectContaining({ name: 'StartError', message: expect.stringContaining(name) }),
  );
});
