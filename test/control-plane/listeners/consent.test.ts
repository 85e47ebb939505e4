import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Listener } from '../../../src/control-plane/listeners/resource.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import { type DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { TENANT } from '../../../src/schema/platform/objects/labels.ts';
import { until } from '../../kit/until.ts';
import {
  makeNamespace,
  startPlane,
  TENANT_A,
  TENANT_B,
  type Plane,
} from '../kit/api-server-plane.ts';

/* A control plane for the whole cluster. Namespaces join tenants; admins of tenants claim them. */
let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('consent', { namespaces: [] });
});
afterAll(() => plane.stop());

const claim = (namespace: string, key = plane.keys.otherAdmin) =>
  plane.call<Listener & { detail: string }>('POST', '/v2/listeners', {
    key,
    body: {
      compute_type: 'k8s',
      compute_id: randomUUID(),
      compute_config: { k8s_namespaces: [namespace] },
    },
  });
const apply = (namespace: string, metadata: Partial<DeploymentResource['metadata']> = {}) =>
  plane.kube.create(kinds.deployment, {
    apiVersion: API_VERSION,
    kind: 'Deployment',
    metadata: { name: 'victim', namespace, ...metadata },
    spec: { source: 'external_container', template: { sourceRevisionConfig: { imageUri: 'a:1' } } },
  });
const label = (name: string, tenant: string | null) =>
  plane.kube.patchJson(kinds.namespace, { name }, [
    tenant === null
      ? { op: 'remove', path: '/metadata/labels/gx.dev~1tenant' }
      : { op: 'add', path: '/metadata/labels/gx.dev~1tenant', value: tenant },
  ]);
const statusFor = async (id: string, key: string): Promise<number> =>
  (await plane.call('GET', `/v2/deployments/${id}`, { key })).status;
const namesFor = async (key: string): Promise<string[]> =>
  (
    await plane.call<{ resources: Deployment[] }>('GET', '/v2/deployments?limit=100', { key })
  ).body.resources.map(({ name }) => name);

describe('what lies in a namespace that nobody has claimed', () => {
  test.each([
    ['no label', {}],
    ['a label of a tenant', { labels: { [TENANT]: TENANT_A } }],
  ])('belongs to nobody, with %s', async (_, metadata) => {
    const namespace = await makeNamespace(plane);
    const { metadata: made } = await apply(namespace, metadata);
    for (const key of [plane.keys.admin, plane.keys.otherAdmin]) {
      expect(await statusFor(made.uid ?? '', key)).toBe(404);
      expect(await namesFor(key)).not.toContain('victim');
    }
  });

  test('belongs to nobody in a namespace that has joined a tenant, until a Listener of the tenant names it', async () => {
    const namespace = await makeNamespace(plane, TENANT_B);
    const { metadata: made } = await apply(namespace);
    expect(await statusFor(made.uid ?? '', plane.keys.other)).toBe(404);
    expect((await claim(namespace)).status).toBe(201);
    expect(await statusFor(made.uid ?? '', plane.keys.other)).toBe(200);
    expect(await statusFor(made.uid ?? '', plane.keys.write)).toBe(404);
  });
});

describe('a namespace is not claimed', () => {
  test.each<[string, () => Promise<string>]>([
    ['that has joined nobody', () => makeNamespace(plane)],
    ['that has joined another tenant', () => makeNamespace(plane, TENANT_A)],
    ['that does not exist yet', async () => `later-${randomUUID().slice(0, 8)}`],
    ["of the installation's, which are the default tenant's", async () => plane.namespace],
  ])('%s, and whoever tries learns nothing about it', async (_, place) => {
    const namespace = await place();
    expect(await claim(namespace)).toMatchObject({
      status: 400,
      body: {
        detail: `compute_config.k8s_namespaces: ${namespace} has not joined this tenant: its owner sets the label ${TENANT}=${TENANT_B} on it`,
      },
    });
  });

  test('by a change of a Listener either', async () => {
    const [own, victim] = [await makeNamespace(plane, TENANT_B), await makeNamespace(plane)];
    const { body: listener } = await claim(own);
    const change = {
      key: plane.keys.otherAdmin,
      body: { compute_config: { k8s_namespaces: [own, victim] } },
    };
    expect((await plane.call('PATCH', `/v2/listeners/${listener.id}`, change)).status).toBe(400);
  });

  test('while it holds what was made for another tenant', async () => {
    const namespace = await makeNamespace(plane, TENANT_B);
    const { metadata: made } = await apply(namespace, { labels: { [TENANT]: TENANT_A } });
    expect(await claim(namespace)).toMatchObject({
      status: 409,
      body: {
        detail: `compute_config.k8s_namespaces: ${namespace} holds deployments of another tenant`,
      },
    });
    expect(await statusFor(made.uid ?? '', plane.keys.other)).toBe(404);
  });

  test('on the word of a label that is gone by then', async () => {
    const namespace = await makeNamespace(plane, TENANT_B);
    const { body: listener } = await claim(namespace);
    expect(
      (await plane.call('DELETE', `/v2/listeners/${listener.id}`, { key: plane.keys.otherAdmin }))
        .status,
    ).toBe(204);
    await label(namespace, null);
    expect((await claim(namespace)).status).toBe(400);
  });
});

test('a Listener that kubectl makes gets nothing of a namespace that has not joined its tenant', async () => {
  const namespace = await makeNamespace(plane);
  const { metadata: victim } = await apply(namespace);
  const metadata = { name: `greedy-${randomUUID().slice(0, 8)}`, namespace: plane.namespace };
  const spec = { tenantId: TENANT_B, computeId: metadata.name, namespaces: [namespace] };
  const greedy = await plane.kube.create(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata,
    spec,
  });
  const path = `/v2/listeners/${greedy.metadata.uid}`;
  const key = plane.keys.otherAdmin;
  await until(
    'the listener is seen',
    async () => (await plane.call('GET', path, { key })).status === 200,
  );
  expect(await statusFor(victim.uid ?? '', key)).toBe(404);
  const body = {
    name: 'x',
    source: 'external_container',
    source_revision_config: { image_uri: 'a:1' },
    secrets: [],
  };
  const placed = await plane.call('POST', '/v2/deployments', {
    key,
    body: { ...body, source_config: { listener_id: greedy.metadata.uid } },
  });
  expect(placed).toMatchObject({
    status: 400,
    body: { detail: expect.stringMatching(/^source_config\.listener_id: no namespace/) },
  });
  await label(namespace, TENANT_B);
  await until('the label counts', async () => (await statusFor(victim.uid ?? '', key)) === 200, 60);
  await label(namespace, TENANT_A);
  await until(
    'the other label counts',
    async () => (await statusFor(victim.uid ?? '', key)) === 404,
    60,
  );
});

describe('an installation whose namespaces have no label', () => {
  let unlabelled: Plane;
  let theirs: string;
  beforeAll(async () => {
    // A second tenant has a Listener for a namespace that the chart does not name.
    unlabelled = await startPlane('unlabelled', { namespaces: [] });
    theirs = await makeNamespace(unlabelled);
    const metadata = { name: 'listener-b', namespace: unlabelled.namespace };
    const spec = { tenantId: TENANT_B, computeId: 'b', namespaces: [theirs] };
    await unlabelled.kube.create(kinds.listener, {
      apiVersion: API_VERSION,
      kind: 'Listener',
      metadata,
      spec,
    });
  });
  afterAll(() => unlabelled.stop());

  const seen = async (key: string): Promise<string[]> =>
    (
      await unlabelled.call<{ resources: Deployment[] }>('GET', '/v2/deployments', { key })
    ).body.resources
      .map(({ name }) => name)
      .toSorted();
  const made = (name: string, namespace: string, labels: Record<string, string>) =>
    unlabelled.kube.create(kinds.deployment, {
      apiVersion: API_VERSION,
      kind: 'Deployment',
      metadata: { name, namespace, labels },
      spec: {
        source: 'external_container',
        template: { sourceRevisionConfig: { imageUri: 'a:1' } },
      },
    });

  test("shows each deployment in the chart's namespaces, by whichever door it came", async () => {
    await made('by-rest', unlabelled.namespace, { [TENANT]: TENANT_A });
    await made('by-kubectl', unlabelled.namespace, {});
    await expect.poll(() => seen(unlabelled.keys.read)).toEqual(['by-kubectl', 'by-rest']);
  });

  test('shows those of further namespaces once these have the label, and before to nobody', async () => {
    await made('of-b', theirs, { [TENANT]: TENANT_B });
    expect(await seen(unlabelled.keys.other)).toEqual([]);
    expect(await seen(unlabelled.keys.read)).not.toContain('of-b');
    await unlabelled.kube.patchJson(kinds.namespace, { name: theirs }, [
      { op: 'add', path: '/metadata/labels/gx.dev~1tenant', value: TENANT_B },
    ]);
    await until(
      'the label counts',
      async () => (await seen(unlabelled.keys.other)).includes('of-b'),
      60,
    );
    expect(await seen(unlabelled.keys.read)).not.toContain('of-b');
  });
});
