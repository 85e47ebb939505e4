import { createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { parse, stringify } from 'yaml';
import {
  BUILD_NAMESPACE_ACCESS,
  GIT_NAMESPACE_ACCESS,
  OWN_NAMESPACE_ACCESS,
  POD_ACCESS,
  SECRET_ACCESS,
  SERVED_NAMESPACE_ACCESS,
} from '../../src/control-plane/access.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import type { PolicyRule } from '../../src/schema/platform/spec/policy-rule.ts';
import { startGitHostStub, type GitHostStub } from '../kit/git-host-stub.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { creation, startPlane, type Plane } from './kit/api-server-plane.ts';

const rbac = (kind: string, plural: string): Kind => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind,
  plural,
  namespaced: true,
});
const account: Kind = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};

let admin: Kube;
let plane: Plane;
let kubeconfig: string;
let host: GitHostStub;
let [builds, credentials]: Stage[] = [];

beforeAll(async () => {
  host = await startGitHostStub('gitea', [{ id: 1, path: 'acme/one', branch: 'main' }]);
  [builds, credentials] = await Promise.all(
    ['access-builds', 'access-git'].map((name) => openStage(name)),
  );
  admin = await connect({
    fieldManager: 'test',
    userAgent: 'test/access',
    kubeconfig: inject('kubeconfig'),
  });
  const places = { buildNamespace: builds!.namespace, gitNamespace: credentials!.namespace };
  plane = await startPlane('access', { gitHosts: [host.url], ...places }, { own: limited });
});
afterAll(async () => {
  await plane.stop();
  for (const stage of [builds, credentials]) await stage?.stop();
  await host.stop();
  await admin.close();
});

/** Returns a kubeconfig of a service account with exactly the permissions that access.ts states, in this namespace. */
async function limited(namespace: string): Promise<string> {
  const metadata = { name: 'control-plane', namespace };
  await admin.create(account, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
  await allow(
    namespace,
    [...OWN_NAMESPACE_ACCESS, ...SERVED_NAMESPACE_ACCESS, ...POD_ACCESS, ...SECRET_ACCESS],
    metadata,
  );
  await allow(builds!.namespace, BUILD_NAMESPACE_ACCESS, metadata);
  await allow(credentials!.namespace, GIT_NAMESPACE_ACCESS, metadata);
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

type Account = { name: string; namespace: string };

async function allow(namespace: string, rules: readonly PolicyRule[], to: Account): Promise<void> {
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    metadata: { name: to.name, namespace },
  };
  await admin.create<KubeObject>(rbac('Role', 'roles'), { ...role, kind: 'Role', rules });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: to.name };
  const subjects = [{ kind: 'ServiceAccount', ...to }];
  await admin.create<KubeObject>(rbac('RoleBinding', 'rolebindings'), {
    ...role,
    kind: 'RoleBinding',
    roleRef,
    subjects,
  });
}

test('the stated rights are enough for everything that REST offers', async () => {
  const resource_spec = { service_account_name: 'nobody' };
  expect(
    (
      await plane.call('POST', '/v2/deployments', {
        body: creation('refused', { source_config: { resource_spec } }),
      })
    ).status,
  ).toBe(400);
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
    ['GET', `${path}/pods`],
    ['GET', `${path}/kube-events`],
    ['GET', '/v2/listeners'],
    ['GET', '/v2/tracing-projects'],
    ['DELETE', `${path}?delete_tracing_project=true`],
  ];
  for (const [method, at, sent] of steps)
    expect([at, (await plane.call(method, at, sent && { body: sent })).status]).toEqual([
      at,
      method === 'DELETE' ? 204 : 200,
    ]);
  const listener = await plane.call<{ id: string }>('POST', '/v2/listeners', {
    key: plane.keys.admin,
    body: {
      compute_type: 'k8s',
      compute_id: 'x',
      compute_config: { k8s_namespaces: [`${plane.namespace}-x`] },
    },
  });
  expect([listener.status, listener.body]).toEqual([
    400,
    expect.objectContaining({ detail: expect.stringContaining('is not served') }),
  ]);
});

test('the stated rights are no more than that', async () => {
  const kube = await connect({
    fieldManager: 'x',
    userAgent: 'test/limited',
    kubeconfig: kubeconfig,
  });
  const { namespace } = plane;
  await expect(kube.list(kinds.secret, { namespace })).rejects.toMatchObject({ status: 403 });
  await expect(kube.list(kinds.workload, { namespace })).rejects.toMatchObject({ status: 403 });
  await expect(
    kube.patchStatus(kinds.deployment, { namespace, name: 'x' }, {}),
  ).rejects.toMatchObject({ status: 403 });
  await expect(kube.list(kinds.deployment, { namespace: 'default' })).rejects.toMatchObject({
    status: 403,
  });
  await kube.close();
});

test('connections to git hosts work, and what pushes images is out of reach', async () => {
  const metadata = { name: 'push', namespace: builds!.namespace };
  await admin.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    stringData: { '.dockerconfigjson': '{}' },
  });
  const connection = {
    name: 'acme',
    kind: 'gitea',
    host: host.url,
    credential: { token: 'secret' },
    webhook_secret: 'sixteen characters',
  };
  const { keys } = plane;
  const made = await plane.call<{ id: string }>('POST', '/v1/integrations/git', {
    key: keys.admin,
    body: connection,
  });
  const path = `/v1/integrations/git/${made.body.id}`;
  expect([made.status, (await plane.call('GET', `${path}/repos`)).body]).toEqual([
    201,
    [expect.objectContaining({ name: 'one' })],
  ]);
  const event = {
    ref: 'refs/heads/main',
    after: 'a'.repeat(40),
    repository: { full_name: 'acme/one' },
  };
  const signature = createHmac('sha256', 'sixteen characters')
    .update(JSON.stringify(event))
    .digest('hex');
  const headers = { 'x-gitea-event': 'push', 'x-gitea-signature': signature };
  expect(
    (await plane.call('POST', `${path}/push`, { key: null, body: event, headers })).status,
  ).toBe(200);
  expect((await plane.call('DELETE', path, { key: keys.admin })).status).toBe(204);

  const kube = await connect({
    fieldManager: 'x',
    userAgent: 'test/limited',
    kubeconfig: kubeconfig,
  });
  const refused = { status: 403 };
  await expect(kube.get(kinds.secret, metadata)).rejects.toMatchObject(refused);
  await expect(kube.list(kinds.secret, { namespace: metadata.namespace })).rejects.toMatchObject(
    refused,
  );
  await expect(
    kube.list(kinds.secret, { namespace: credentials!.namespace }),
  ).rejects.toMatchObject(refused);
  await expect(kube.delete(kinds.secret, metadata)).rejects.toMatchObject(refused);
  await kube.close();
});
