import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import { until } from '../../kit/until.ts';
import { creation, startPlane, TENANT_A, TENANT_B, type Plane } from '../kit/api-server-plane.ts';

type Page = { resources: { id: string; name: string; tenant_id: string }[] };
let plane: Plane;
let foreign: string;
beforeAll(async () => {
  plane = await startPlane('projects');
  const project = (projectName: string, tenantId?: string) =>
    plane.kube.create(kinds.tracingProject, {
      apiVersion: API_VERSION,
      kind: 'TracingProject',
      metadata: { name: projectName, namespace: plane.namespace },
      spec: { projectName, ...(tenantId !== undefined && { tenantId }) },
    });
  foreign = (await project('foreign', TENANT_B)).metadata.uid ?? '';
  await Promise.all([project('left-over', TENANT_A), project('in-use')]);
  await until('all are seen', async () => (await names(plane.keys.write)).length === 2);
});
afterAll(() => plane.stop());

const names = async (key: string): Promise<string[]> =>
  (await plane.call<Page>('GET', '/v2/tracing-projects', { key })).body.resources
    .map(({ name }) => name)
    .toSorted((a, b) => (a < b ? -1 : 1));
const idOf = async (name: string): Promise<string> =>
  (await plane.call<Page>('GET', `/v2/tracing-projects?name=${name}`)).body.resources[0]?.id ?? '';

test('those of a namespace are of its tenant; one that names another tenant is nobody’s', async () => {
  expect(await names(plane.keys.write)).toEqual(['in-use', 'left-over']);
  expect(await names(plane.keys.other)).toEqual([]);
  for (const key of [plane.keys.write, plane.keys.other]) {
    expect((await plane.call('GET', `/v2/tracing-projects/${foreign}`, { key })).status).toBe(404);
    expect((await plane.call('DELETE', `/v2/tracing-projects/${foreign}`, { key })).status).toBe(
      404,
    );
  }
  expect((await plane.call('POST', '/v2/deployments', { body: creation('foreign') })).status).toBe(
    201,
  );
});

test('one whose deployment is there can not be removed', async () => {
  const metadata = { name: 'in-use', namespace: plane.namespace };
  const spec = {
    source: 'external_container',
    template: { sourceRevisionConfig: { imageUri: 'a:1' } },
  } as const;
  await plane.kube.create(kinds.deployment, {
    apiVersion: API_VERSION,
    kind: 'Deployment',
    metadata,
    spec,
  });
  const path = `/v2/tracing-projects/${await idOf('in-use')}`;
  const seen = async (): Promise<Page> =>
    (await plane.call<Page>('GET', '/v2/deployments?name=in-use')).body;
  await until('the deployment is seen', async () => (await seen()).resources.length === 1);
  expect((await plane.call('DELETE', path)).status).toBe(409);
  expect((await plane.call('GET', path)).status).toBe(200);
});

test('one that is left over blocks its name until it is removed', async () => {
  expect(
    (await plane.call('POST', '/v2/deployments', { body: creation('left-over') })).status,
  ).toBe(409);
  const path = `/v2/tracing-projects/${await idOf('left-over')}`;
  expect((await plane.call('DELETE', path, { key: plane.keys.read })).status).toBe(403);
  expect((await plane.call('DELETE', path)).status).toBe(204);
  expect((await plane.call('GET', path)).status).toBe(404);
  expect(
    (await plane.call('POST', '/v2/deployments', { body: creation('left-over') })).status,
  ).toBe(201);
  expect((await plane.call('GET', `/v2/tracing-projects/${randomUUID()}`)).status).toBe(404);
});
