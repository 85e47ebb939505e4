import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { OWN_NAMESPACE_ACCESS, POD_ACCESS, SECRET_ACCESS, SERVED_NAMESPACE_ACCESS } from '../../src/control-plane/access.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds, type Kind, type Kube, type KubeObject } from '../../src/kube/kube.ts';
import type { Deployment } from '../../src/schema/deployment.ts';
import { creation, startPlane, type Plane } from './kit/api-server-plane.ts';

const rbac = (kind: string, plural: string): Kind => ({ apiVersion: 'rbac.authorization.k8s.io/v1', kind, plural, namespaced: true });
const account: Kind = { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true };

let admin: Kube;
let plane: Plane;
let kubeconfig: string;

beforeAll(async () => {
  admin = await connect({ fieldManager: 'test', userAgent: 'test/access', kubeconfig: inject('kubeconfig') });
  plane = await startPlane('access', {}, { own: limited });
});
afterAll(async () => {
  await plane.stop();
  await admin.close();
});

/** Returns a kubeconfig of a service account with exactly the permissions that access.ts states, in this namespace. */
async function limited(namespace: string): Promise<string> {
  const metadata = { name: 'control-plane', namespace };
  await admin.create(account, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata };
  await admin.create<KubeObject>(rbac('Role', 'roles'), {
    ...role,
    kind: 'Role',
    rules: [...OWN_NAMESPACE_ACCESS, ...SERVED_NAMESPACE_ACCESS, ...POD_ACCESS, ...SECRET_ACCESS],
  });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name };
  const subjects = [{ kind: 'ServiceAccount', ...metadata }];
  await admin.create<KubeObject>(rbac('RoleBinding', 'rolebindings'), { ...role, kind: 'RoleBinding', roleRef, subjects });
  const request: Kind = { ...account, plural: `serviceaccounts/${metadata.name}/token` };
  const spec = { expirationSeconds: 3600, audiences: [] };
  const granted = (await admin.create<KubeObject>(request, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata,
    spec,
  })) as { status?: { token: string } };
  const config = parse(readFileSync(inject('kubeconfig'), 'utf8')) as { users: { user: object }[] };
  for (const entry of config.users) entry.user = { token: granted.status?.token };
  const path = join(mkdtempSync(join(tmpdir(), 'gx-access-')), 'kubeconfig');
  writeFileSync(path, stringify(config));
  kubeconfig = path;
  return path;
}

test('the stated rights are enough for everything that REST offers', async () => {
  const resource_spec = { service_account_name: 'nobody' };
  expect((await plane.call('POST', '/v2/deployments', { body: creation('refused', { source_config: { resource_spec } }) })).status).toBe(
    400,
  );
  const { status, body } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('limited', { secrets: [{ name: 'A', value: 'b' }] }),
  });
  expect([status, body.secrets]).toEqual([201, [{ name: 'A', value: 'b' }]]);
  const path = `/v2/deployments/${body.id}`;
  const steps: [string, string, object?][] = [
    ['GET', '/v2/deployments'],
    ['PATCH', path, { secrets: [{ name: 'A', value: 'c' }] }],
    ['POST', `${path}/revisions/${body.latest_revision_id}/redeploy`],
    ['POST', `${path}/revisions/${body.latest_revision_id}/interrupt`],
    ['GET', `${path}/logs`],
    ['GET', '/v2/listeners'],
    ['GET', '/v2/tracing-projects'],
    ['DELETE', `${path}?delete_tracing_project=true`],
  ];
  for (const [method, at, sent] of steps)
    expect([at, (await plane.call(method, at, sent && { body: sent })).status]).toEqual([at, method === 'DELETE' ? 204 : 200]);
  const listener = await plane.call<{ id: string }>('POST', '/v2/listeners', {
    key: plane.keys.admin,
    body: { compute_type: 'k8s', compute_id: 'x', compute_config: { k8s_namespaces: [`${plane.namespace}-x`] } },
  });
  expect([listener.status, listener.body]).toEqual([400, expect.objectContaining({ detail: expect.stringContaining('is not served') })]);
});

test('the stated rights are no more than that', async () => {
  const kube = await connect({ fieldManager: 'x', userAgent: 'test/limited', kubeconfig: kubeconfig });
  const { namespace } = plane;
  await expect(kube.list(kinds.secret, { namespace })).rejects.toMatchObject({ status: 403 });
  await expect(kube.list(kinds.workload, { namespace })).rejects.toMatchObject({ status: 403 });
  await expect(kube.patchStatus(kinds.deployment, { namespace, name: 'x' }, {})).rejects.toMatchObject({ status: 403 });
  await expect(kube.list(kinds.deployment, { namespace: 'default' })).rejects.toMatchObject({ status: 403 });
  await kube.close();
});
