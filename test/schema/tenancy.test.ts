import { describe, expect, test } from 'vitest';
import {
  type DeploymentResource,
  type ListenerResource,
} from '../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { TENANT } from '../../src/schema/platform/objects/labels.ts';
import {
  resolveNamespaceTenant,
  chooseNamespaceOwners,
  resolveDeploymentTenant,
  resolveProjectTenant,
} from '../../src/schema/platform/resources/tenancy.ts';

const listener = (
  name: string,
  creationTimestamp: string,
  namespaces: string[],
  tenantId?: string,
): ListenerResource => ({
  apiVersion: API_VERSION,
  kind: 'Listener',
  metadata: { name, uid: name, creationTimestamp },
  spec: { computeId: 'c', namespaces, ...(tenantId !== undefined && { tenantId }) },
});
const deployment = (
  namespace: string,
  labels: Record<string, string> = {},
): DeploymentResource => ({
  apiVersion: API_VERSION,
  kind: 'Deployment',
  metadata: { name: 'chat', namespace, labels },
  spec: { source: 'external_container', template: {} },
});

/** Every namespace has joined the tenant `theirs`, but for those that begin with another word. */
const joined = (namespace: string): string =>
  namespace.startsWith('default') ? 'default' : 'theirs';
const owners = (...listeners: ListenerResource[]) =>
  chooseNamespaceOwners(listeners, joined, 'default');
const shown = (of: ReturnType<typeof owners>): string[] =>
  [...of].map(([namespace, { metadata }]) => `${namespace} ${metadata.name}`);

describe('a namespace', () => {
  test('joins a tenant by its label; without one, those of the installation are the default tenant’s', () => {
    const installed = { agentNamespaces: ['gx-agents'], defaultTenantId: 'default' };
    const tenant = (name: string, labels?: Record<string, string>) =>
      resolveNamespaceTenant({ name, labels }, installed);
    expect(tenant('gx-agents')).toBe('default');
    expect(tenant('gx-agents', { [TENANT]: 'THEIRS' })).toBe('theirs');
    expect(tenant('team-b', { [TENANT]: 'theirs' })).toBe('theirs');
    expect(tenant('team-b', { other: 'x' })).toBeUndefined();
  });

  test('belongs to the oldest Listener of its tenant that names it, in whatever order they are read', () => {
    const [old, young, twin] = [
      listener('old', '2026-01-01', ['a'], 'theirs'),
      listener('young', '2026-01-02', ['a', 'b'], 'theirs'),
      listener('twin', '2026-01-02', ['b'], 'theirs'),
    ];
    for (const all of [
      [old, young, twin],
      [twin, young, old],
    ])
      expect(shown(owners(...all)).toSorted()).toEqual(['a old', 'b twin']);
  });

  test('does not belong to a Listener of a tenant that it has not joined, however old', () => {
    const [stranger, own] = [
      listener('stranger', '2026-01-01', ['a', 'c'], 'mine'),
      listener('own', '2026-01-02', ['a'], 'theirs'),
    ];
    expect(shown(owners(stranger, own))).toEqual(['a own']);
  });
});

describe('a deployment', () => {
  const all = owners(
    listener('l', '2026-01-01', ['a'], 'theirs'),
    listener('m', '2026-01-01', ['default-b']),
  );
  const tenant = (namespace: string, label?: string) =>
    resolveDeploymentTenant(
      deployment(namespace, label === undefined ? {} : { [TENANT]: label }),
      all,
      'default',
    );

  test('is of the tenant of its namespace, and of nobody where no Listener is', () => {
    expect([tenant('a'), tenant('default-b'), tenant('c')]).toEqual([
      'theirs',
      'default',
      undefined,
    ]);
  });

  test('is given to nobody by its label: one of another tenant only hides it', () => {
    expect([
      tenant('a', 'theirs'),
      tenant('a', 'mine'),
      tenant('default-b', 'theirs'),
      tenant('c', 'mine'),
    ]).toEqual(['theirs', undefined, undefined, undefined]);
  });

  test('is of its tenant also where that is written in capitals', () => {
    const capitals = chooseNamespaceOwners(
      [listener('l', '2026-01-01', ['a'], 'THEIRS')],
      joined,
      'default',
    );
    expect(
      resolveDeploymentTenant(deployment('a', { [TENANT]: 'Theirs' }), capitals, 'default'),
    ).toBe('theirs');
  });
});

test('a tracing project is of the tenant of its namespace: one that names another tenant is nobody’s', () => {
  const all = owners(listener('l', '2026-01-01', ['a'], 'theirs'));
  const project = (namespace: string, tenantId?: string) =>
    resolveProjectTenant(
      {
        metadata: { name: 'p', namespace },
        spec: { projectName: 'p', ...(tenantId !== undefined && { tenantId }) },
      },
      all,
      'd',
    );
  expect([
    project('a'),
    project('a', 'THEIRS'),
    project('a', 'mine'),
    project('b', 'theirs'),
  ]).toEqual(['theirs', 'theirs', undefined, undefined]);
});
