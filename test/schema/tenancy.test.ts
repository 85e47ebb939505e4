import { expect, test } from 'vitest';
import { API_VERSION, type DeploymentResource, type ListenerResource } from '../../src/schema/custom-resources.ts';
import { TENANT } from '../../src/schema/labels.ts';
import { ownersOf, tenantOf } from '../../src/schema/tenancy.ts';

const listener = (name: string, creationTimestamp: string, namespaces: string[], tenantId?: string): ListenerResource => ({
  apiVersion: API_VERSION,
  kind: 'Listener',
  metadata: { name, uid: name, creationTimestamp },
  spec: { computeId: 'c', namespaces, ...(tenantId !== undefined && { tenantId }) },
});
const deployment = (namespace: string, labels: Record<string, string> = {}): DeploymentResource => ({
  apiVersion: API_VERSION,
  kind: 'Deployment',
  metadata: { name: 'chat', namespace, labels },
  spec: { source: 'external_container', template: {} },
});

test('a namespace belongs to the oldest Listener that names it, in whatever order they are read', () => {
  const [old, young, twin] = [
    listener('old', '2026-01-01', ['a']),
    listener('young', '2026-01-02', ['a', 'b']),
    listener('twin', '2026-01-02', ['b']),
  ];
  for (const all of [
    [old, young, twin],
    [twin, young, old],
  ]) {
    const owners = ownersOf(all);
    expect([...owners].map(([namespace, { metadata }]) => `${namespace} ${metadata.name}`).toSorted()).toEqual(['a old', 'b twin']);
  }
});

test('a deployment is of the tenant of its namespace, whatever its label says; the label counts where no Listener is', () => {
  const owners = ownersOf([listener('l', '2026-01-01', ['a'], 'theirs'), listener('m', '2026-01-01', ['b'])]);
  expect(tenantOf(deployment('a', { [TENANT]: 'mine' }), owners, 'default')).toBe('theirs');
  expect(tenantOf(deployment('b', { [TENANT]: 'mine' }), owners, 'default')).toBe('default');
  expect(tenantOf(deployment('c', { [TENANT]: 'mine' }), owners, 'default')).toBe('mine');
  expect(tenantOf(deployment('c'), owners, 'default')).toBe('default');
});

test('a tenant that was written in capitals is the same tenant', () => {
  const owners = ownersOf([listener('l', '2026-01-01', ['a'], 'ABCDEF00-0000-4000-8000-000000000000')]);
  const tenant = 'abcdef00-0000-4000-8000-000000000000';
  expect(tenantOf(deployment('a'), owners, 'default')).toBe(tenant);
  expect(tenantOf(deployment('c', { [TENANT]: tenant.toUpperCase() }), owners, 'default')).toBe(tenant);
});
