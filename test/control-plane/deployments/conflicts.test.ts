import { expect, inject, test } from 'vitest';
import { Conflict, Forbidden } from '../../../src/errors.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { faultProxy } from '../../kit/fault-proxy.ts';
import { until } from '../../kit/until.ts';
import { creation, letGo, startPlane, TENANT_A } from '../kit/api-server-plane.ts';

/*
 * The API server answers 409 not only for "already exists" but also when it counted a quota twice at a time. In that
 * case it made nothing.
 */
const COUNTED = 'Operation cannot be fulfilled on resourcequotas "q": the object has been modified';

/** A door in which one call is replaced. */
const withCall = <K extends keyof Kube>(kube: Kube, name: K, call: Kube[K]): Kube =>
  new Proxy(kube, {
    get: (target, key) => {
      const value: unknown = key === name ? call : Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

/** A door whose first creation of the kind meets such a quota. */
const counted =
  (kind: string) =>
  (kube: Kube): Kube => {
    let isFirst = true;
    return withCall(kube, 'create', (of, object, ...rest) => {
      const isMet = isFirst && of.kind === kind;
      if (isMet) isFirst = false;
      return isMet ? Promise.reject(new Conflict(COUNTED)) : kube.create(of, object, ...rest);
    });
  };
const body = creation('counted', { secrets: [{ name: 'A', value: 'b' }] });

test('a deployment that a quota got in the way of is not told as taken: 503, nothing is left, and the same request works', async () => {
  const plane = await startPlane('countedd', {}, { through: counted('Deployment') });
  const first = await plane.call('POST', '/v2/deployments', { body });
  expect(first).toMatchObject({ status: 503, body: { detail: COUNTED } });
  const scope = { namespace: plane.namespace, labelSelector: 'gx.dev/secrets-of=counted' };
  expect(await plane.kube.listAll(kinds.secret, scope)).toEqual([]);
  expect((await plane.call('POST', '/v2/deployments', { body })).status).toBe(201);
  await plane.stop();
});

test('a revision that a quota got in the way of is made at the second try', async () => {
  const plane = await startPlane('countedr', {}, { through: counted('Revision') });
  const { status, body: made } = await plane.call<Deployment>('POST', '/v2/deployments', { body });
  expect(status).toBe(201);
  const { items } = await plane.kube.list(kinds.revision, { namespace: plane.namespace });
  expect(items.map(({ metadata }) => metadata.uid)).toEqual([made.latest_revision_id]);
  await plane.stop();
});

test('of several deletions one that the cluster refuses stops no other, and is worded as a single one would be', async () => {
  const refused = (kube: Kube): Kube =>
    withCall(kube, 'delete', (kind, ref, ...rest) =>
      ref.name === 'kept'
        ? Promise.reject(new Forbidden('User "system:serviceaccount:gx" cannot delete'))
        : kube.delete(kind, ref, ...rest),
    );
  const plane = await startPlane('refused', {}, { through: refused });
  const make = async (name: string) =>
    (await plane.call<Deployment>('POST', '/v2/deployments', { body: creation(name) })).body.id;
  const [kept, gone] = [await make('kept'), await make('gone')];
  const detail = 'The control plane lacks a permission in the cluster; its log names it.';
  expect(
    await plane.call('DELETE', `/v2/deployments?deployment_ids=${kept}&deployment_ids=${gone}`),
  ).toMatchObject({
    status: 207,
    body: { deleted: [gone], failed: [{ id: kept, status: 503, detail }] },
  });
  expect(await plane.call('DELETE', `/v2/deployments/${kept}`)).toMatchObject({
    status: 503,
    body: { detail },
  });
  await plane.stop();
});

test('a name is free as soon as who had it is gone, though a watch has not told of that yet', async () => {
  const proxy = await faultProxy(inject('kubeconfig'));
  proxy.rules = {
    event: ({ resource }, line) =>
      resource !== 'revisions' && line.includes('"DELETED"') ? 'drop' : 'pass',
  };
  const plane = await startPlane('late', {}, { own: () => Promise.resolve(proxy.kubeconfig) });
  const { kube, namespace } = plane;
  expect((await plane.call('POST', '/v2/deployments', { body: creation('late') })).status).toBe(
    201,
  );
  const project = {
    apiVersion: API_VERSION,
    kind: 'TracingProject',
    metadata: { name: 'late', namespace },
  };
  await kube.create(kinds.tracingProject, {
    ...project,
    spec: { projectName: 'late', tenantId: TENANT_A },
  });
  const shown = async (path: string): Promise<number> =>
    (await plane.call<{ resources: [] }>('GET', path)).body.resources.length;
  await until(
    'its project is known',
    async () => (await shown('/v2/tracing-projects?name=late')) === 1,
  );
  expect((await plane.call('POST', '/v2/deployments', { body: creation('late') })).status).toBe(
    409,
  );
  await letGo(plane, 'late').catch(() => undefined);
  await kube.delete(kinds.deployment, { namespace, name: 'late' });
  expect(await plane.call('POST', '/v2/deployments', { body: creation('late') })).toMatchObject({
    status: 409,
    body: { detail: expect.stringMatching(/a tracing project named late\.$/) as string },
  });
  await kube.delete(kinds.tracingProject, { namespace, name: 'late' });
  expect((await plane.call('POST', '/v2/deployments', { body: creation('late') })).status).toBe(
    201,
  );
  await plane.stop();
  proxy.stop();
});
