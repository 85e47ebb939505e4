import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { LeaseObject } from '../../../src/kube/kube.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import type { DeploymentDetails } from '../../../src/schema/platform/deployment/deployment-summary.ts';
import { UNMATCHED_PUSH } from '../../../src/schema/platform/objects/labels.ts';
import { AFTER, HEADERS, PAYLOADS } from '../../git/payloads.ts';
import { creation, startPlane, TENANT_A, TENANT_B, type Plane } from '../kit/api-server-plane.ts';

/* Push events of connections that stand in the settings, which have no resource that all replicas watch. */

const SECRET = 'a secret of the webhook';
const [OURS, SECOND, THEIRS] = ['1', '2', '3'].map(
  (digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`,
) as [string, string, string];
const configured = (id: string, tenant_id: string) => ({
  id,
  tenant_id,
  name: id.slice(0, 8),
  installation_id: 1,
  kind: 'github' as const,
  webhook_secret: 'shared-pushes-webhook',
});
const SETTINGS = {
  hosting: 'both' as const,
  gitNamespace: 'default',
  gitIntegrations: [
    configured(OURS, TENANT_A),
    configured(SECOND, TENANT_A),
    configured(THEIRS, TENANT_B),
  ],
};

type Shown = { id: string; unmatched_push: { repository: string } | null };
let plane: Plane;
let other: Awaited<ReturnType<Plane['replica']>>;
beforeAll(async () => {
  plane = await startPlane('shared-pushes', SETTINGS);
  const metadata = { name: 'shared-pushes-webhook', namespace: 'default' };
  const data = { secret: Buffer.from(SECRET).toString('base64') };
  await plane.kube.create(kinds.secret, { apiVersion: 'v1', kind: 'Secret', metadata, data });
  other = await plane.replica();
});
afterAll(async () => {
  await plane.kube.delete(kinds.secret, { namespace: 'default', name: 'shared-pushes-webhook' });
  await other.stop();
  await plane.stop();
});

/** Sends an event to a replica that is for no deployment. */
async function deliver(url: string, id: string, repository: string): Promise<number> {
  const body = JSON.stringify(PAYLOADS.github({ repository: { full_name: repository } }));
  const hmac = createHmac('sha256', SECRET).update(body).digest('hex');
  const headers = {
    'content-type': 'application/json',
    ...HEADERS.github,
    'x-hub-signature-256': `sha256=${hmac}`,
  };
  const path = `${url}/v1/integrations/git/${id}/push`;
  return (await fetch(path, { method: 'POST', body, headers })).status;
}
const shownBy = async ({ call }: Pick<Plane, 'call'>, key: string, id: string) =>
  (await call<Shown[]>('GET', '/v1/integrations/git', { key })).body.find((one) => one.id === id)
    ?.unmatched_push?.repository;
const REF = { name: 'gx-unmatched-pushes' };
const record = (): Promise<LeaseObject> =>
  plane.kube.get(kinds.lease, { ...REF, namespace: plane.namespace });

test('each replica shows what another one has taken, with the connection and with its deployments', async () => {
  const source = {
    source: 'git',
    source_config: {
      integration_id: OURS,
      repo_url: 'https://github.com/acme/agent.git',
      build_on_push: true,
    },
    source_revision_config: { repo_ref: 'main', gx_config_path: 'gx.json' },
  };
  const made = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('of-settings', source),
  });
  expect(made.status).toBe(201);
  await plane.kube.patchStatus(
    kinds.deployment,
    { namespace: plane.namespace, name: 'of-settings' },
    { followedRef: 'main', followedCommit: AFTER },
  );
  expect(await deliver(plane.url, OURS, 'acme/first')).toBe(200);
  expect(await deliver(other.url, SECOND, 'acme/second')).toBe(200);
  for (const replica of [plane, other]) {
    // One read of the record serves all questions of a second.
    const patience = { timeout: 5000 };
    await expect.poll(() => shownBy(replica, plane.keys.admin, OURS), patience).toBe('acme/first');
    await expect
      .poll(() => shownBy(replica, plane.keys.admin, SECOND), patience)
      .toBe('acme/second');
    await expect
      .poll(async () => {
        const path = `/v2/deployments/${made.body.id}/state`;
        return (await replica.call<DeploymentDetails>('GET', path)).body.branch?.unmatched_push;
      })
      .toMatchObject({ repository: 'acme/first', branch: 'main' });
  }
});

test('nobody sees the events of another tenant, not even of a connection that was once another one’s', async () => {
  expect(await deliver(plane.url, THEIRS, 'others/secret')).toBe(200);
  const listed = async (key: string): Promise<string> =>
    JSON.stringify((await other.call('GET', '/v1/integrations/git', { key })).body);
  await expect
    .poll(() => listed(plane.keys.otherAdmin), { timeout: 5000 })
    .toContain('others/secret');
  expect(await listed(plane.keys.admin)).not.toContain('others');
  const moved = await record();
  const noted = JSON.parse(moved.metadata.annotations![UNMATCHED_PUSH]!) as Record<string, object>;
  const annotations = {
    [UNMATCHED_PUSH]: JSON.stringify({ ...noted, [OURS]: { ...noted[OURS], tenant: TENANT_B } }),
  };
  await plane.kube.replace(kinds.lease, { ...moved, metadata: { ...moved.metadata, annotations } });
  await expect
    .poll(() => shownBy(other, plane.keys.admin, OURS), { timeout: 5000 })
    .toBeUndefined();
});

test('it is written once a minute for a connection, and forgets those that the settings no longer name', async () => {
  const before = await record();
  const gone = '99999999-0000-4000-8000-000000000000';
  const noted = JSON.parse(before.metadata.annotations![UNMATCHED_PUSH]!) as Record<string, object>;
  const annotations = {
    [UNMATCHED_PUSH]: JSON.stringify({ ...noted, [gone]: noted[SECOND] }),
  };
  await plane.kube.replace(kinds.lease, {
    ...before,
    metadata: { ...before.metadata, annotations },
  });
  // This replica has written one of this connection within the minute, and the other one has not.
  const { metadata } = await record();
  expect(await deliver(plane.url, OURS, 'acme/again')).toBe(200);
  expect((await record()).metadata.resourceVersion).toBe(metadata.resourceVersion);
  expect(await deliver(other.url, OURS, 'acme/again')).toBe(200);
  const after = JSON.parse((await record()).metadata.annotations![UNMATCHED_PUSH]!) as object;
  expect(Object.keys(after).toSorted()).toEqual([OURS, SECOND, THEIRS]);
  expect(after).toMatchObject({ [OURS]: { repository: 'acme/again', tenant: TENANT_A } });
});

test('where the record says nonsense or can’t be read, everything else is shown', async () => {
  const found = await record();
  const annotations = { [UNMATCHED_PUSH]: '{"' };
  await plane.kube.replace(kinds.lease, { ...found, metadata: { ...found.metadata, annotations } });
  await expect
    .poll(() => shownBy(other, plane.keys.admin, SECOND), { timeout: 5000 })
    .toBe('acme/second');
  await expect
    .poll(() => shownBy(plane, plane.keys.admin, SECOND), { timeout: 5000 })
    .toBeUndefined();
});
