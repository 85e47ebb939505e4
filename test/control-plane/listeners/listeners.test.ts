import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Listener } from '../../../src/control-plane/listeners/resource.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { TENANT } from '../../../src/schema/platform/objects/labels.ts';
import { until } from '../../kit/until.ts';
import {
  creation,
  makeNamespace,
  startPlane,
  TENANT_A,
  TENANT_B,
  type Plane,
} from '../kit/api-server-plane.ts';

let plane: Plane;
let extra: string;
beforeAll(async () => {
  plane = await startPlane('listeners', { namespaces: [] });
  extra = await makeNamespace(plane, TENANT_B);
});
afterAll(() => plane.stop());

const body = (compute_id: string, ...k8s_namespaces: string[]) => ({
  compute_type: 'k8s',
  compute_id,
  compute_config: { k8s_namespaces },
});
const create = (wanted: object, key = plane.keys.admin) =>
  plane.call<Listener & { detail: string }>('POST', '/v2/listeners', { body: wanted, key });
const deploy = (name: string, source_config: object, key = plane.keys.write) =>
  plane.call<Deployment & { detail: string }>('POST', '/v2/deployments', {
    key,
    body: creation(name, { source_config: { resource_spec: {}, ...source_config } }),
  });

test('a listener of another tenant takes its deployments, and nobody else’s', async () => {
  const key = plane.keys.otherAdmin;
  const { status, body: listener } = await create(body('b-cluster', extra), key);
  expect(listener).toMatchObject({
    tenant_id: TENANT_B,
    compute_type: 'k8s',
    compute_id: 'b-cluster',
    compute_config: { k8s_namespaces: [extra] },
  });
  expect(status).toBe(201);
  const placed = await deploy('theirs', { listener_id: listener.id }, key);
  expect(placed).toMatchObject({
    status: 201,
    body: {
      tenant_id: TENANT_B,
      source_config: { listener_id: listener.id, listener_config: { k8s_namespace: extra } },
    },
  });
  expect((await deploy('mine', { listener_id: listener.id })).status).toBe(400);
  expect((await deploy('mine', { listener_config: { k8s_namespace: extra } })).status).toBe(400);
  expect((await plane.call('GET', `/v2/deployments/${placed.body.id}`)).status).toBe(404);
  expect(
    (await deploy('in-capitals', { listener_id: listener.id.toUpperCase() }, key)).status,
  ).toBe(201);
  expect((await deploy('theirs', {})).status).toBe(201);
  for (const [method, options] of [
    ['GET', {}],
    ['PATCH', { body: {} }],
    ['DELETE', {}],
  ] as const)
    expect(
      (
        await plane.call(method, `/v2/listeners/${listener.id}`, {
          ...options,
          key: plane.keys.admin,
        })
      ).status,
    ).toBe(404);
});

test('a deployment made with kubectl belongs to the tenant of its namespace', async () => {
  const metadata = { name: 'by-kubectl', namespace: extra };
  const spec = {
    source: 'external_container',
    template: { sourceRevisionConfig: { imageUri: 'a:1' } },
  } as const;
  const made = await plane.kube.create(kinds.deployment, {
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Deployment',
    metadata,
    spec,
  });
  const path = `/v2/deployments/${made.metadata.uid}`;
  expect((await plane.call('GET', path)).status).toBe(404);
  expect(
    (await plane.call<Deployment>('GET', path, { key: plane.keys.otherAdmin })).body,
  ).toMatchObject({
    name: 'by-kubectl',
    tenant_id: TENANT_B,
  });
});

test('a compute id or a namespace is taken once', async () => {
  expect(await create(body('test', await makeNamespace(plane, TENANT_A)))).toMatchObject({
    status: 409,
    body: { detail: expect.stringMatching(/^Listener for .* already exists\.$/) },
  });
  expect(await create(body('second', plane.namespace))).toMatchObject({
    status: 409,
    body: { detail: expect.stringMatching(/^compute_config.k8s_namespaces: /) },
  });
  expect((await create(body('second', 'twice', 'twice'))).status).toBe(400);
});

test.each([
  ['another compute type', { ...body('x', 'a'), compute_type: 'vm' }],
  ['no namespaces', body('x')],
  ['a namespace that is none', body('x', 'A_B')],
  ['an unknown field', { ...body('x', 'a'), more: 1 }],
])('%s is answered with 422', async (_, wanted) => {
  expect((await create(wanted)).status).toBe(422);
});

test('a listener can be changed and removed as long as no deployment needs it', async () => {
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => makeNamespace(plane, TENANT_A)));
  const { body: listener } = await create({
    ...body('third', one as string, two as string),
    version: '1',
  });
  const path = `/v2/listeners/${listener.id}`;
  expect((await plane.call<Listener>('GET', path)).body).toEqual(listener);
  expect(
    (await plane.call<Listener>('GET', `/v2/listeners/${listener.id.toUpperCase()}`)).body,
  ).toEqual(listener);
  const key = plane.keys.admin;
  expect((await plane.call<Listener>('PATCH', path, { key, body: {} })).body).toEqual(listener);
  const changed = await plane.call<Listener>('PATCH', path, {
    key,
    body: { compute_config: { k8s_namespaces: [one, three] } },
  });
  expect(changed.body.compute_config).toEqual({ k8s_namespaces: [one, three] });
  expect((await plane.call('PATCH', path, { key, body: { compute_id: 'x' } })).status).toBe(422);
  expect((await plane.call('DELETE', path, { key })).status).toBe(204);
  expect((await plane.call('GET', path)).body).toEqual({
    detail: `Listener ID ${listener.id} not found.`,
  });

  const { body: held } = await deploy('holding', {});
  const own = `/v2/listeners/${held.source_config.listener_id}`;
  expect((await plane.call('DELETE', own, { key })).status).toBe(409);
  expect(
    (await plane.call('PATCH', own, { key, body: { compute_config: { k8s_namespaces: [two] } } }))
      .status,
  ).toBe(400);
});

test('with several listeners a deployment names one, unless one is called default', async () => {
  const places = await Promise.all(
    [TENANT_A, TENANT_A, TENANT_B].map((tenant) => makeNamespace(plane, tenant)),
  );
  const [four = '', five = '', six = ''] = places;
  const [one, two] = [await create(body('four', four)), await create(body('five', five))];
  expect((await deploy('somewhere', {})).body.source_config.listener_config).toEqual({
    k8s_namespace: plane.namespace,
  });
  const key = plane.keys.otherAdmin;
  await create(body('six', six), key);
  expect(await deploy('where', {}, key)).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining("'listener_id' is required") },
  });
  const page = await plane.call<{ resources: Listener[]; offset: number }>(
    'GET',
    '/v2/listeners?limit=1',
  );
  expect([page.body.resources.length, page.body.offset]).toEqual([1, 1]);
  const all = await plane.call<{ resources: Listener[]; offset: number }>('GET', '/v2/listeners');
  expect(all.body.resources[0]).toEqual(page.body.resources[0]);
  const created = all.body.resources.map(({ created_at }) => created_at);
  expect(created).toEqual(created.toSorted().toReversed());
  expect(all.body.offset).toBe(created.length);
  for (const { id } of [one.body, two.body])
    expect(
      (await plane.call('DELETE', `/v2/listeners/${id}`, { key: plane.keys.admin })).status,
    ).toBe(204);
});

test('of ten that take one namespace at once through two replicas, exactly one gets it', async () => {
  const replica = await plane.replica();
  const wanted = await makeNamespace(plane, TENANT_A);
  const calls = Array.from({ length: 10 }, (_, index) => {
    const { call } = index % 2 === 0 ? plane : replica;
    return call<Listener & { detail: string }>('POST', '/v2/listeners', {
      key: plane.keys.admin,
      body: body(`racer-${index}`, wanted),
    });
  });
  const answers = await Promise.all(calls);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    201,
    ...Array.from({ length: 9 }, () => 409),
  ]);
  const there = await plane.kube.listAll(kinds.listener, { namespace: plane.namespace });
  expect(there.filter(({ spec }) => spec.namespaces.includes(wanted))).toHaveLength(1);

  const [own = '', other = '', more = ''] = await Promise.all(
    [1, 2, 3].map(() => makeNamespace(plane, TENANT_A)),
  );
  const growing = await Promise.all([own, other].map((name) => create(body(name, name))));
  const grown = await Promise.all(
    growing.map(({ body: { id } }, index) =>
      (index === 0 ? plane : replica).call('PATCH', `/v2/listeners/${id}`, {
        key: plane.keys.admin,
        body: { compute_config: { k8s_namespaces: [index === 0 ? own : other, more] } },
      }),
    ),
  );
  expect(grown.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  for (const { body: made } of [...answers, ...growing])
    if (made.id !== undefined)
      await plane.call('DELETE', `/v2/listeners/${made.id}`, { key: plane.keys.admin });
  await replica.stop();
});

test('a Listener that kubectl makes for a namespace that is taken gets nothing of it', async () => {
  const metadata = { name: 'greedy', namespace: plane.namespace };
  // The listener's admin wrote the tenant in capitals.
  const spec = {
    tenantId: TENANT_B.toUpperCase(),
    computeId: 'greedy',
    namespaces: [plane.namespace],
  };
  const greedy = await plane.kube.create(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata,
    spec,
  });
  const key = plane.keys.otherAdmin;
  await until(
    'the listener is seen',
    async () =>
      (await plane.call('GET', `/v2/listeners/${greedy.metadata.uid}`, { key })).status === 200,
  );
  expect((await deploy('smuggled', { listener_id: greedy.metadata.uid }, key)).status).toBe(400);
  const made = await plane.kube.create(kinds.deployment, {
    apiVersion: API_VERSION,
    kind: 'Deployment',
    metadata: { name: 'labelled', namespace: plane.namespace, labels: { [TENANT]: TENANT_B } },
    spec: {
      source: 'external_container',
      sourceConfig: { listener: 'greedy' },
      template: { sourceRevisionConfig: { imageUri: 'a:1' } },
    },
  });
  const path = `/v2/deployments/${made.metadata.uid}`;
  expect((await plane.call('GET', path, { key })).status).toBe(404);
  expect((await plane.call('GET', path)).status).toBe(404);
  await plane.kube.delete(kinds.listener, metadata);
});
