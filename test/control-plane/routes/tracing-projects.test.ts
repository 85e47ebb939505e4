import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kube.ts';
import { API_VERSION } from '../../../src/schema/custom-resources.ts';
import { until } from '../../kit/until.ts';
import { creation, startPlane, TENANT_A, TENANT_B, type Plane } from '../kit/api-server-plane.ts';

type Page = { resources: { id: string; name: string; tenant_id: string }[] };
let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('projects');
  const project = (projectName: string, tenantId?: string) =>
    plane.kube.create(kinds.tracingProject, {
      apiVersion: API_VERSION,
      kind: 'TracingProject',
      metadata: { name: projectName, namespace: plane.namespace },
      spec: { projectName, ...(tenantId !== undefined && { tenantId }) },
    });
  await Promise.all([project('left-over', TENANT_A), project('in-use'), project('foreign', TENANT_B)]);
  await until('all are seen', async () => (await names(plane.keys.write)).length + (await names(plane.keys.other)).length === 3);
});
afterAll(() => plane.stop());

const names = async (key: string): Promise<string[]> =>
  (await plane.call<Page>('GET', '/v2/tracing-projects', { key })).body.resources
    .map(({ name }) => name)
    .toSorted((a, b) => (a < b ? -1 : 1));
const idOf = async (name: string, key = plane.keys.write): Promise<string> =>
  (await plane.call<Page>('GET', `/v2/tracing-projects?name=${name}`, { key })).body.resources[0]?.id ?? '';

test('a tenant sees its own; one that names no tenant is of the default one', async () => {
  expect(await names(plane.keys.write)).toEqual(['in-use', 'left-over']);
  expect(await names(plane.keys.other)).toEqual(['foreign']);
  const path = `/v2/tracing-projects/${await idOf('foreign', plane.keys.other)}`;
  expect((await plane.call('GET', path)).status).toBe(404);
  expect((await plane.call('DELETE', path)).status).toBe(404);
});

test('one whose deployment is there can not be removed', async () => {
  const metadata = { name: 'in-use', namespace: plane.namespace };
  const spec = { source: 'external_container', template: { sourceRevisionConfig: { imageUri: 'a:1' } } } as const;
  await plane.kube.create(kinds.deployment, { apiVersion: API_VERSION, kind: 'Deployment', metadata, spec });
  const path = `/v2/tracing-projects/${await idOf('in-use')}`;
  const seen = async (): Promise<Page> => (await plane.call<Page>('GET', '/v2/deployments?name=in-use')).body;
  await until('the deployment is seen', async () => (await seen()).resources.length === 1);
  expect((await plane.call('DELETE', path)).status).toBe(409);
  expect((await plane.call('GET', path)).status).toBe(200);
});

test('one that is left over blocks its name until it is removed', async () => {
  expect((await plane.call('POST', '/v2/deployments', { body: creation('left-over') })).status).toBe(409);
  const path = `/v2/tracing-projects/${await idOf('left-over')}`;
  expect((await plane.call('DELETE', path, { key: plane.keys.read })).status).toBe(403);
  expect((await plane.call('DELETE', path)).status).toBe(204);
  expect((await plane.call('GET', path)).status).toBe(404);
  expect((await plane.call('POST', '/v2/deployments', { body: creation('left-over') })).status).toBe(201);
  expect((await plane.call('GET', `/v2/tracing-projects/${randomUUID()}`)).status).toBe(404);
});
