import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readControlPlaneConfig } from '../../../src/config/platform/control-plane.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { startIssuer, type Issuer } from '../kit/issuer.ts';
import { creation, startPlane, TENANT_A, TENANT_B, type Plane } from '../kit/api-server-plane.ts';

let plane: Plane;
let deployment: Deployment;
beforeAll(async () => {
  plane = await startPlane('auth');
  deployment = (await plane.call<Deployment>('POST', '/v2/deployments', { body: creation('mine') }))
    .body;
});
afterAll(() => plane.stop());

type Problem = { detail: string };
const list = (options: Parameters<Plane['call']>[2]) =>
  plane.call<Problem>('GET', '/v2/deployments', options);

describe('a request', () => {
  test.each([
    ['without a key', null, {}, 401],
    ['with a key that was never made', 'gx_wrong', {}, 401],
    ['with an empty key', '', {}, 401],
    ['with a bearer token', null, { authorization: 'Bearer x' }, 401],
    ['with a tenant alone', null, { 'X-Tenant-Id': TENANT_A }, 401],
  ])('%s is answered with 401 and a sentence', async (_, key, headers, expected) => {
    const { status, body } = await list({ key, headers });
    expect([status, typeof body.detail]).toEqual([expected, 'string']);
  });

  test.each([
    ['its own tenant', TENANT_A, 200],
    ['its own tenant in capitals', TENANT_A.toUpperCase(), 200],
    ['another tenant', TENANT_B, 403],
  ])('that names %s', async (_, tenant, expected) => {
    expect((await list({ headers: { 'X-Tenant-ID': tenant } })).status).toBe(expected);
  });

  test('without a key is refused before its body or path is looked at', async () => {
    expect((await plane.call('POST', '/v2/deployments', { key: null, body: '{' })).status).toBe(
      401,
    );
  });

  test.each([
    ['POST', '/v2/deployments'],
    ['PATCH', '/v2/deployments/{id}'],
    ['DELETE', '/v2/deployments/{id}'],
    ['POST', '/v2/deployments/{id}/revisions'],
    ['POST', '/v2/deployments/{id}/revisions/{revision}/redeploy'],
    ['POST', '/v2/deployments/{id}/revisions/{revision}/interrupt'],
    ['DELETE', '/v2/deployments?deployment_ids={id}'],
    ['POST', '/v2/listeners'],
    ['PATCH', '/v2/listeners/{id}'],
    ['DELETE', '/v2/listeners/{id}'],
  ])('that writes (%s %s) needs a key that may write', async (method, path) => {
    const at = path
      .replace('{id}', deployment.id)
      .replace('{revision}', deployment.latest_revision_id ?? '');
    expect(
      (
        await plane.call(method, at, {
          key: plane.keys.read,
          ...(method !== 'DELETE' && { body: {} }),
        })
      ).status,
    ).toBe(403);
    expect((await plane.call('GET', `/v2/deployments/${deployment.id}`)).body).toEqual(deployment);
  });
});

test.each([
  ['POST', '/v2/listeners'],
  ['PATCH', '/v2/listeners/{id}'],
  ['DELETE', '/v2/listeners/{id}'],
])('a listener is written by an admin alone (%s %s)', async (method, path) => {
  const at = path.replace('{id}', deployment.source_config.listener_id ?? '');
  const body = {
    compute_type: 'k8s',
    compute_id: 'mine',
    compute_config: { k8s_namespaces: ['of-somebody'] },
  };
  const refused = await plane.call<Problem>(method, at, {
    key: plane.keys.write,
    ...(method !== 'DELETE' && { body }),
  });
  expect(refused).toMatchObject({
    status: 403,
    body: { detail: 'This needs the role admin; this key has the role write.' },
  });
});

test('an admin does what a writer does, and sees the values of secrets', async () => {
  const key = plane.keys.admin;
  const body = creation('of-admin', { secrets: [{ name: 'A', value: 'seen' }] });
  const made = await plane.call<Deployment>('POST', '/v2/deployments', { key, body });
  expect(made).toMatchObject({ status: 201, body: { secrets: [{ name: 'A', value: 'seen' }] } });
  expect((await plane.call('DELETE', `/v2/deployments/${made.body.id}`, { key })).status).toBe(204);
});

describe('with an issuer configured', () => {
  let issuer: Issuer;
  let open: Plane;
  beforeAll(async () => {
    issuer = await startIssuer();
    const { oidc } = readControlPlaneConfig({ GX_OIDC_ISSUER: issuer.url, GX_OIDC_AUDIENCE: 'gx' });
    open = await startPlane('bearer', { oidc });
  });
  afterAll(async () => {
    await open.stop();
    await issuer.down();
  });
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const names = async (options: Parameters<Plane['call']>[2]) => {
    const { status, body } = await open.call<{ resources: Deployment[] }>(
      'GET',
      '/v2/deployments',
      options,
    );
    return [status, body.resources.map(({ name }) => name)];
  };

  test('a bearer token makes and sees the deployments of its tenant, as a key of that tenant does', async () => {
    const headers = bearer(await issuer.token({ tenant_id: TENANT_A, role: 'write' }));
    const made = await open.call<Deployment>('POST', '/v2/deployments', {
      key: null,
      headers,
      body: creation('tokened'),
    });
    expect([made.status, made.body.tenant_id]).toEqual([201, TENANT_A]);
    expect(await names({ key: null, headers })).toEqual([200, ['tokened']]);
    expect(await names({})).toEqual([200, ['tokened']]);
    const stranger = bearer(await issuer.token({ tenant_id: TENANT_B, role: 'write' }));
    expect(
      (await open.call('GET', `/v2/deployments/${made.body.id}`, { key: null, headers: stranger }))
        .status,
    ).toBe(404);
    const reader = bearer(await issuer.token({ tenant_id: TENANT_A, role: 'read' }));
    expect(
      (await open.call('DELETE', `/v2/deployments/${made.body.id}`, { key: null, headers: reader }))
        .status,
    ).toBe(403);
  });

  test('an API key decides alone where both are sent, good or bad', async () => {
    const other = bearer(await issuer.token({ tenant_id: TENANT_B, role: 'write' }));
    expect(await names({ headers: other })).toEqual([200, ['tokened']]);
    expect((await open.call('GET', '/v2/deployments', { headers: bearer('rubbish') })).status).toBe(
      200,
    );
    expect(
      (await open.call('GET', '/v2/deployments', { key: 'gx_wrong', headers: other })).status,
    ).toBe(401);
  });

  test('a token that is not good is answered with a sentence and a challenge, and stands in no log', async () => {
    const token = await issuer.token({ tenant_id: TENANT_A, role: 'write', aud: 'another' });
    const { status, headers, body } = await open.call<Problem>('GET', '/v2/deployments', {
      key: null,
      headers: bearer(token),
    });
    expect([status, body.detail]).toEqual([401, 'The bearer token is for another audience.']);
    expect(headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect(open.logged()).not.toContain(token);
  });
});

describe("another tenant's key", () => {
  test.each([
    ['GET', '/v2/deployments/{id}'],
    ['PATCH', '/v2/deployments/{id}'],
    ['DELETE', '/v2/deployments/{id}'],
    ['GET', '/v2/deployments/{id}/revisions'],
    ['GET', '/v2/deployments/{id}/revisions/{revision}'],
    ['POST', '/v2/deployments/{id}/revisions/{revision}/redeploy'],
    ['POST', '/v2/deployments/{id}/revisions/{revision}/interrupt'],
  ])('finds nothing: %s %s', async (method, path) => {
    const at = path
      .replace('{id}', deployment.id)
      .replace('{revision}', deployment.latest_revision_id ?? '');
    const body = method === 'PATCH' ? { body: { secrets: [] } } : {};
    const answer = await plane.call<Problem>(method, at, { key: plane.keys.other, ...body });
    expect(answer).toMatchObject({
      status: 404,
      body: { detail: `Deployment ID ${deployment.id} not found.` },
    });
    expect((await plane.call('GET', `/v2/deployments/${deployment.id}`)).body).toEqual(deployment);
  });

  test('sees an empty list, no listener, and can place nothing', async () => {
    const key = plane.keys.other;
    expect(
      (await plane.call<{ resources: unknown[] }>('GET', '/v2/deployments', { key })).body
        .resources,
    ).toEqual([]);
    expect(
      (await plane.call<{ resources: unknown[] }>('GET', '/v2/listeners', { key })).body.resources,
    ).toEqual([]);
    const refused = await plane.call<Problem>('POST', '/v2/deployments', {
      key,
      body: creation('other'),
    });
    expect(refused).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/^source_config.listener_id: /) },
    });
  });
});
