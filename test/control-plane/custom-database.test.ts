import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import type { Revision } from '../../src/schema/platform/deployment/revision.ts';
import { newDeployment } from '../kit/objects.ts';
import { until } from '../kit/until.ts';
import { creation, startPlane, type Plane } from './kit/api-server-plane.ts';

/* A deployment whose secrets name a database of the user's own in POSTGRES_URI_CUSTOM. */

const CUSTOM = {
  name: 'POSTGRES_URI_CUSTOM',
  value: 'postgresql://agents:canary@db.example/agents',
};
const TOKEN = { name: 'TOKEN', value: 'one' };

let plane: Plane;
let deployment: Deployment;
beforeAll(async () => {
  plane = await startPlane('custom-database');
  await plane.startOperator();
  plane.startKubelet();
  deployment = (
    await plane.call<Deployment>('POST', '/v2/deployments', {
      body: creation('custom', { secrets: [CUSTOM] }),
    })
  ).body;
});
afterAll(() => plane.stop());

const end = async ({ id, latest_revision_id }: Deployment): Promise<string> =>
  (
    await plane.call<Revision>(
      'GET',
      `/v2/deployments/${id}/revisions/${latest_revision_id}?wait=50`,
    )
  ).body.status;
const patch = (secrets: object[]) =>
  plane.call<Deployment & { detail: string }>('PATCH', `/v2/deployments/${deployment.id}`, {
    body: { secrets },
  });
const ofDatabase = async (kind: typeof kinds.statefulSet, name: string): Promise<KubeObject[]> =>
  (await plane.kube.listAll(kind, { namespace: plane.namespace })).filter(({ metadata }) =>
    metadata.name.startsWith(name),
  );

type Pods = {
  template: {
    spec: { containers: { env: { name: string }[]; envFrom: { secretRef: { name: string } }[] }[] };
  };
};
const apiOf = async (name: string) => {
  const { spec, metadata } = await plane.see.workload(`${name}-api`);
  return { metadata, container: (spec as Pods).template.spec.containers[0] };
};

test('it is served without a database of the platform', async () => {
  expect(await end(deployment)).toBe('DEPLOYED');
  expect(await ofDatabase(kinds.statefulSet, 'custom')).toEqual([]);
  expect((await ofDatabase(kinds.service, 'custom')).map(({ metadata }) => metadata.name)).toEqual([
    'custom-agent',
  ]);
  expect(await ofDatabase(kinds.volumeClaim, 'data-custom')).toEqual([]);
  const { spec, status } = await plane.see.deployment('custom');
  expect(spec.database).toEqual({ fromSecrets: true });
  expect(status?.conditions?.find(({ type }) => type === 'DatabaseReady')).toMatchObject({
    status: 'True',
    reason: 'External',
  });
});

test('its pods read the address from their own secrets alone', async () => {
  const { spec } = await plane.see.deployment('custom');
  const { container } = await apiOf('custom-00001');
  expect(container?.env.map(({ name }) => name)).not.toContain('DATABASE_URI');
  expect(container?.envFrom).toEqual([{ secretRef: { name: spec.template.secretName } }]);
});

test('another address is another revision, and restarts none of the former one', async () => {
  const before = await apiOf('custom-00001');
  const { body: changed } = await patch([
    { ...CUSTOM, value: 'postgresql://agents:canary@other.example/agents' },
  ]);
  expect(await end(changed)).toBe('DEPLOYED');
  expect((await apiOf('custom-00001')).container).toEqual(before.container);
});

test('a patch can not take the address away', async () => {
  const refused = await patch([TOKEN]);
  expect([refused.status, refused.body.detail]).toEqual([
    400,
    'secrets: POSTGRES_URI_CUSTOM must stay, because it names the database of this deployment',
  ]);
  expect((await patch([{ ...CUSTOM, value: '' }])).status).toBe(400);
});

test('a deployment that has a managed database keeps it when a secret names another', async () => {
  const { body: managed } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('managed', { secrets: [TOKEN] }),
  });
  expect(await end(managed)).toBe('DEPLOYED');
  const body = { secrets: [TOKEN, CUSTOM] };
  const { body: changed } = await plane.call<Deployment>('PATCH', `/v2/deployments/${managed.id}`, {
    body,
  });
  expect(await end(changed)).toBe('DEPLOYED');
  expect(
    (await ofDatabase(kinds.statefulSet, 'managed')).map(({ metadata }) => metadata.name),
  ).toEqual(['managed-db']);
  const change = plane.kube.patchJson(
    kinds.deployment,
    { namespace: plane.namespace, name: 'managed' },
    [{ op: 'add', path: '/spec/database', value: { fromSecrets: true } }],
  );
  await expect(change).rejects.toThrow("database.fromSecrets: can't be changed");
});

test('made with kubectl, it waits for secrets that name a database', async () => {
  const { kube, namespace } = plane;
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name: 'bare' },
      spec: { database: { fromSecrets: true } },
    }),
  );
  const said = async () =>
    (await plane.see.deployment('bare')).status?.conditions?.find(
      ({ type }) => type === 'DatabaseReady',
    );
  await until('it says what is missing', async () =>
    (await said())?.message.includes('POSTGRES_URI_CUSTOM'),
  );
  expect((await said())?.status).toBe('False');
  const both = { fromSecrets: true, external: { secretName: 'x' } };
  const refused = kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name: 'both' }, spec: { database: both } }),
  );
  await expect(refused).rejects.toThrow('database.fromSecrets: not beside database.external');
});
