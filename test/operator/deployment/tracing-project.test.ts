import { expect, test } from 'vitest';
import type { Cache } from '../../../src/kube/cache.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { createCaches, type Caches } from '../../../src/operator/view/caches.ts';
import {
  buildTracingProject,
  resolveTracingState,
} from '../../../src/operator/deployment/parts/tracing-project.ts';
import { deployment, settings } from '../../kit/objects.ts';

function caches(given: {
  deployments?: object[];
  listeners?: object[];
  projects?: object[];
}): Caches {
  const made = createCaches();
  const fill = <T extends KubeObject>(cache: Cache<T>, objects: object[] = []): void => {
    for (const object of objects)
      cache.addIfNewer({
        ...object,
        metadata: { ...(object as KubeObject).metadata, resourceVersion: '1' },
      } as T);
  };
  fill(made.deployments, given.deployments);
  fill(made.listeners, given.listeners);
  fill(made.tracingProjects, given.projects);
  return made;
}
const mine = deployment({ metadata: { creationTimestamp: '2026-01-02T00:00:00Z' } });
const older = deployment({
  metadata: { namespace: 'other', uid: 'older', creationTimestamp: '2026-01-01T00:00:00Z' },
});
const tenant = settings().defaultTenantId;
const listener = (namespaces: string[], tenantId?: string) => ({
  apiVersion: 'gx.dev/v1alpha1',
  kind: 'Listener',
  metadata: { name: namespaces.join('-') },
  spec: { ...(tenantId !== undefined && { tenantId }), computeId: 'c', namespaces },
});
const joined = settings({ agentNamespaces: ['team', 'other'] });
const both = [listener(['team', 'other'])];

test('is made when there is none, and taken up again when one is left over', () => {
  const missing = resolveTracingState(
    mine,
    caches({ deployments: [mine], listeners: both }),
    joined,
  );
  expect(missing).toMatchObject({
    state: 'missing',
    project: { spec: { projectName: 'chat', tenantId: tenant } },
  });
  const left = caches({
    deployments: [mine],
    listeners: both,
    projects: [buildTracingProject(older, tenant)],
  });
  expect(resolveTracingState(mine, left, joined).state).toBe('there');
});

test('is taken up however the tenant is written in it', () => {
  const tenantId = 'ABCDEF00-0000-4000-8000-000000000000';
  const given = {
    deployments: [mine],
    listeners: [listener(['team'], tenantId)],
    projects: [buildTracingProject(mine, tenantId)],
  };
  const own = settings({ agentNamespaces: ['team'], defaultTenantId: tenantId.toLowerCase() });
  expect(resolveTracingState(mine, caches(given), own).state).toBe('there');
});

test('is shared with an older deployment of the same name and tenant, wherever it lives', () => {
  const world = caches({ deployments: [mine, older], listeners: both });
  expect(resolveTracingState(mine, world, joined).state).toBe('shared');
  expect(resolveTracingState(older, world, joined).state).toBe('missing');
});

test.each([
  [
    'the same name of another tenant',
    [listener(['team']), listener(['other'], '99999999-9999-4999-8999-999999999999')],
  ],
  ['the same name in a namespace that nobody has', [listener(['team'])]],
])('is not shared with %s', (_, listeners) => {
  expect(
    resolveTracingState(mine, caches({ deployments: [mine, older], listeners }), joined).state,
  ).toBe('missing');
});

test('is not replaced by one in another tenant’s namespace, whatever tenant that names', () => {
  const projects = [buildTracingProject(older, tenant)];
  expect(
    resolveTracingState(
      mine,
      caches({ deployments: [mine], listeners: [listener(['team'])], projects }),
      joined,
    ).state,
  ).toBe('missing');
});

test('of what belongs to nobody names no tenant, and is found again in its namespace alone', () => {
  const missing = resolveTracingState(mine, caches({ deployments: [mine, older] }), settings());
  expect(missing).toMatchObject({ state: 'missing', project: { spec: { projectName: 'chat' } } });
  const elsewhere = caches({
    deployments: [mine],
    projects: [buildTracingProject(older, undefined)],
  });
  expect(resolveTracingState(mine, elsewhere, settings()).state).toBe('missing');
  const here = caches({ deployments: [mine], projects: [buildTracingProject(mine, tenant)] });
  expect(resolveTracingState(mine, here, settings()).state).toBe('there');
});
