import { expect, test } from 'vitest';
import type { Cache } from '../../../src/kube/cache.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { createCaches, type Caches } from '../../../src/operator/family/caches.ts';
import { tracingProject, tracingState } from '../../../src/operator/deployment/tracing-project.ts';
import { deployment, settings } from '../../kit/objects.ts';

function caches(given: { deployments?: object[]; listeners?: object[]; projects?: object[] }): Caches {
  const made = createCaches();
  const fill = <T extends KubeObject>(cache: Cache<T>, objects: object[] = []): void => {
    for (const object of objects) cache.offer({ ...object, metadata: { ...(object as KubeObject).metadata, resourceVersion: '1' } } as T);
  };
  fill(made.deployments, given.deployments);
  fill(made.listeners, given.listeners);
  fill(made.tracingProjects, given.projects);
  return made;
}
const mine = deployment({ metadata: { creationTimestamp: '2026-01-02T00:00:00Z' } });
const older = deployment({ metadata: { namespace: 'other', uid: 'older', creationTimestamp: '2026-01-01T00:00:00Z' } });
const tenant = settings().defaultTenantId;

test('is made when there is none, and taken up again when one is left over', () => {
  const missing = tracingState(mine, caches({ deployments: [mine] }), settings());
  expect(missing).toMatchObject({ state: 'missing', project: { spec: { projectName: 'chat', tenantId: tenant } } });
  const left = tracingState(mine, caches({ deployments: [mine], projects: [tracingProject(older, tenant)] }), settings());
  expect(left.state).toBe('there');
});

test('is taken up however the tenant is written in it', () => {
  const letters = { tenantId: 'ABCDEF00-0000-4000-8000-000000000000' };
  const listener = {
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'l' },
    spec: { ...letters, computeId: 'c', namespaces: ['team'] },
  };
  const project = tracingProject(mine, letters.tenantId);
  expect(tracingState(mine, caches({ deployments: [mine], listeners: [listener], projects: [project] }), settings()).state).toBe('there');
});

test('is taken by an older deployment of the same name and tenant, wherever it lives', () => {
  expect(tracingState(mine, caches({ deployments: [mine, older] }), settings()).state).toBe('taken');
  expect(tracingState(older, caches({ deployments: [mine, older] }), settings()).state).toBe('missing');
});

test('belongs to the tenant of the namespace: the same name of another tenant is no rival', () => {
  const listener = {
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'l' },
    spec: { tenantId: 'theirs', computeId: 'c', namespaces: ['other'] },
  };
  expect(tracingState(mine, caches({ deployments: [mine, older], listeners: [listener] }), settings()).state).toBe('missing');
});
