import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TenantKeys } from '../../../src/tokens/tenant-keys.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { until } from '../../kit/until.ts';
import { silentLog } from '../../kit/log.ts';
import { startPlane, TENANT_A, type Plane } from '../kit/api-server-plane.ts';

/* The key that opens a deployment's agents, over REST: who may see it, and how it is changed. */

type Key = { api_key: string; previous_api_key: string | null; previous_until: string | null };

let plane: Plane;
let deployment: Deployment;
const at = (path = ''): string => `/v2/deployments/${deployment.id}/key${path}`;
const body = (name: string): object => ({
  name,
  source: 'external_container',
  source_config: { resource_spec: {} },
  source_revision_config: { image_uri: 'agent:1' },
  secrets: [],
});

beforeAll(async () => {
  plane = await startPlane('agent-keys');
  const created = await plane.call<Deployment>('POST', '/v2/deployments', { body: body('keyed') });
  deployment = created.body;
});
afterAll(() => plane.stop());

test('before the operator has made the key, there is none to see', async () => {
  expect(await plane.call('GET', at())).toMatchObject({
    status: 404,
    body: { detail: 'The deployment has no key yet; the operator makes it.' },
  });
});

test('a key that may write sees it, and no cache keeps it', async () => {
  plane.startKubelet();
  await plane.startOperator();
  await until('there is a key', async () => (await plane.call('GET', at())).status === 200);
  const { headers, body: shown } = await plane.call<Key>('GET', at());
  expect(shown).toEqual({
    api_key: expect.stringMatching(/^gxa_[\w-]{43}$/),
    previous_api_key: null,
    previous_until: null,
  });
  expect(headers.get('cache-control')).toBe('no-store');
});

test('a key that may only read, and another tenant, do not', async () => {
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/rotate'],
  ] as const) {
    expect((await plane.call(method, at(path), { key: plane.keys.read })).status).toBe(403);
    expect((await plane.call(method, at(path), { key: plane.keys.other })).status).toBe(404);
    expect((await plane.call(method, at(path), { key: null })).status).toBe(401);
  }
});

test('a rotation answers with the new key, and the one before it with its end', async () => {
  const { body: before } = await plane.call<Key>('GET', at());
  const { status, body: after } = await plane.call<Key>('POST', at('/rotate'));
  expect([status, after.previous_api_key]).toEqual([200, before.api_key]);
  expect(after.api_key).not.toBe(before.api_key);
  const hours = (Date.parse(after.previous_until ?? '') - Date.now()) / 3_600_000;
  expect(hours).toBeGreaterThan(23.9);
  expect(hours).toBeLessThan(24.1);
  const again = await plane.call<Key>('POST', at('/rotate'));
  expect(again.body.previous_api_key).toBe(after.api_key);
  expect((await plane.call<Key>('GET', at())).body).toEqual(again.body);
});

test('a Secret of that name that is not the deployment’s own is not shown', async () => {
  const { kube, namespace } = plane;
  const { body: other } = await plane.call<Deployment>('POST', '/v2/deployments?dry_run=true', {
    body: body('foreign'),
  });
  expect(other.name).toBe('foreign');
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'foreign-key', namespace },
    stringData: { 'api-key': 'mine' },
  });
  const made = await plane.call<Deployment>('POST', '/v2/deployments', { body: body('foreign') });
  expect((await plane.call('GET', `/v2/deployments/${made.body.id}/key`)).status).toBe(404);
});

describe('the check that agents ask for', () => {
  const check = (key: string | null, id = deployment.id) =>
    plane.call('POST', '/v2/auth/check', { key, body: { deployment_id: id } });

  test('says whose a key of the tenant is, and what it may do', async () => {
    const { status, body: shown } = await check(plane.keys.write);
    expect([status, shown]).toEqual([
      200,
      {
        tenant_id: TENANT_A,
        role: 'write',
        subject: expect.stringMatching(/^[0-9a-f]{16}$/),
        name: expect.any(String),
      },
    ]);
    expect((await check(plane.keys.read)).body).toMatchObject({ role: 'read' });
  });

  test('says no to a key of another tenant, an unknown one and none', async () => {
    expect((await check(plane.keys.other)).status).toBe(404);
    expect((await check(plane.keys.read, crypto.randomUUID())).status).toBe(404);
    expect((await check(`gx_${'x'.repeat(65)}`)).status).toBe(401);
    expect((await check(null)).status).toBe(401);
  });

  test('is what an agent understands', async () => {
    const agent = new TenantKeys({
      place: { url: plane.url, deploymentId: deployment.id },
      log: silentLog(),
    });
    expect(await agent.find(plane.keys.read, { reads: true, source: '10.0.0.1' })).toMatchObject({
      role: 'read',
      tenant_id: TENANT_A,
    });
    expect(await agent.find(plane.keys.other, { reads: true, source: '10.0.0.1' })).toBeUndefined();
  });
});

test('no key stands in a log, an event or a resource', async () => {
  const { body: shown } = await plane.call<Key>('GET', at());
  const { kube, namespace } = plane;
  const resources = [
    await kube.listAll(kinds.deployment, { namespace }),
    await kube.listAll(kinds.revision, { namespace }),
  ];
  for (const key of [shown.api_key, shown.previous_api_key ?? '']) {
    expect(plane.logged()).not.toContain(key);
    expect(JSON.stringify(resources)).not.toContain(key);
  }
});

test('who may call the agents is part of a deployment, and a change makes a revision', async () => {
  const path = `/v2/deployments/${deployment.id}`;
  const patched = await plane.call<Deployment>('PATCH', path, {
    body: { source_revision_config: { auth: { mode: 'open' } } },
  });
  expect(patched.status).toBe(200);
  expect(patched.body.source_revision_config.auth).toEqual({ mode: 'open' });
  expect(patched.body.latest_revision_id).not.toBe(deployment.latest_revision_id);
  const back = await plane.call<Deployment>('PATCH', path, {
    body: { source_revision_config: { auth: { mode: 'key' } } },
  });
  expect(back.body.source_revision_config.auth).toEqual({ mode: 'key' });
});

test.each([
  [
    { mode: 'open', issuer: 'https://id.example', audiences: ['a'] },
    400,
    'source_revision_config.auth.issuer: not while mode is open',
  ],
  [
    { issuer: 'https://id.example' },
    400,
    'source_revision_config.auth.audiences: required with an issuer',
  ],
  [{ mode: 'closed' }, 422, 'mode'],
  [{ keys: [] }, 422, 'keys'],
])('%o is refused', async (auth, status, sentence) => {
  const patch = { body: { source_revision_config: { auth } } };
  const refused = await plane.call<{ detail: unknown }>(
    'PATCH',
    `/v2/deployments/${deployment.id}`,
    patch,
  );
  expect(refused.status).toBe(status);
  expect(JSON.stringify(refused.body.detail)).toContain(sentence);
});
