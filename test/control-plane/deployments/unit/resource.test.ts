import { expect, test } from 'vitest';
import { deriveLaterTime } from '../../../../src/control-plane/deployments/later-time.ts';
import {
  getDeploymentStatus,
  toDeploymentAnswer,
  toDeploymentResource,
} from '../../../../src/control-plane/deployments/resource.ts';
import { buildJsonPatch } from '../../../../src/control-plane/json-patch.ts';
import { getUpdatedAt } from '../../../../src/control-plane/stored/metadata.ts';
import type { DeploymentResource } from '../../../../src/schema/platform/resources/custom-resources.ts';
import { Deployment, SourceConfig } from '../../../../src/schema/platform/deployment/deployment.ts';
import { container, git } from '../cases.ts';

const place = { namespace: 'team', tenantId: '00000000-0000-4000-8000-000000000000' };
const stored = (parts: Partial<DeploymentResource> = {}): DeploymentResource => {
  const made = toDeploymentResource({ ...container, name: 'chat', secrets: [] }, place, {
    listener: 'default',
  });
  return {
    ...made,
    ...parts,
    metadata: {
      ...made.metadata,
      uid: 'u-1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...parts.metadata,
    },
  };
};
const around = { id: 'i', tenantId: place.tenantId, secrets: [] };

test('a request becomes a resource in camelCase, without nulls at any depth', () => {
  const resource_spec = {
    queue_memory_mb: 256,
    memory_mb: null,
    volumes: [{ name: 'a', emptyDir: {}, configMap: null }],
    sidecars: [
      {
        name: 's',
        image: 'i',
        securityContext: { runAsUser: null, seLinuxOptions: { level: null } },
      },
    ],
    labels: { Team_Name: 'kept_as_it_is' },
  };
  const body = {
    ...container,
    name: 'chat',
    secrets: [],
    source_config: {
      ...container.source_config,
      resource_spec,
      custom_url: 'https://a.example',
      listener_id: null,
    },
  };
  expect(toDeploymentResource(body, place, { secretName: 's', listener: 'default' })).toEqual({
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Deployment',
    metadata: {
      name: 'chat',
      namespace: 'team',
      labels: { 'gx.dev/tenant': place.tenantId, 'app.kubernetes.io/part-of': 'gx-platform' },
      finalizers: ['gx.dev/children'],
    },
    spec: {
      source: 'external_container',
      sourceConfig: { customUrl: 'https://a.example', listener: 'default' },
      template: {
        sourceRevisionConfig: { imageUri: 'registry.example/agent:1' },
        secretName: 's',
        resourceSpec: {
          queueMemoryMb: 256,
          volumes: [{ name: 'a', emptyDir: {} }],
          sidecars: [{ name: 's', image: 'i', securityContext: { seLinuxOptions: {} } }],
          labels: { Team_Name: 'kept_as_it_is' },
        },
      },
    },
  });
});

test('an answer has every field, null where unset', () => {
  const answer = toDeploymentAnswer(stored(), around);
  expect(Object.keys(answer).toSorted()).toEqual(Object.keys(Deployment.properties).toSorted());
  expect(Object.keys(answer.source_config).toSorted()).toEqual(
    Object.keys(SourceConfig.properties).toSorted(),
  );
  expect(Object.values(answer)).not.toContain(undefined);
});

test('the URL comes from status unless one was set', () => {
  const spec = { ...stored().spec, id: '44444444-4444-4444-8444-444444444444' };
  const answer = toDeploymentAnswer(
    stored({ spec, status: { url: 'http://chat.team', serverVersion: '0.1.0' } }),
    around,
  );
  expect(answer).toMatchObject({
    url: 'http://chat.team',
    image_version: '0.1.0',
    source_config: { custom_url: 'http://chat.team' },
  });
  const own = toDeploymentAnswer(
    stored({
      spec: { ...spec, sourceConfig: { customUrl: 'https://own.example' } },
      status: { url: 'http://chat.team' },
    }),
    around,
  );
  expect(own.source_config.custom_url).toBe('https://own.example');
});

test('a git deployment tells no place', () => {
  const made = toDeploymentResource({ ...git, name: 'chat', secrets: [] }, place, {});
  expect(toDeploymentAnswer(made, around).source_config).toMatchObject({
    listener_id: null,
    listener_config: null,
    resource_spec: null,
  });
});

test.each([
  ['nothing is known yet', {}, 'AWAITING_DATABASE'],
  ['the operator said so', { status: { phase: 'READY' } }, 'READY'],
  ['it is hibernated', { status: { phase: 'UNUSED' } }, 'UNUSED'],
  [
    'it is being deleted',
    {
      metadata: { name: 'chat', deletionTimestamp: '2026-01-02T00:00:00Z' },
      status: { phase: 'READY' },
    },
    'AWAITING_DELETE',
  ],
] as const)('when %s, the status is %3$s', (_, parts, status) => {
  expect(getDeploymentStatus(stored(parts as Partial<DeploymentResource>))).toBe(status);
});

test('it was updated when any of its fields, or a condition, was last written', () => {
  const [apiVersion, kind] = ['gx.dev/v1alpha1', 'Deployment'];
  const managedFields = [{ time: '2026-02-01T00:00:00Z' }, { time: '2026-03-01T00:00:00Z' }];
  expect(
    getUpdatedAt({
      apiVersion,
      kind,
      metadata: { name: 'chat', creationTimestamp: '2026-01-01T00:00:00Z', managedFields },
    }),
  ).toBe('2026-03-01T00:00:00Z');
  expect(
    getUpdatedAt(
      stored({
        status: {
          conditions: [
            {
              type: 'Ready',
              status: 'True',
              reason: 'R',
              message: '',
              lastTransitionTime: '2026-04-01T00:00:00Z',
            },
          ],
        },
      }),
    ),
  ).toBe('2026-04-01T00:00:00Z');
});

test.each([
  ['nothing changed', { a: 1, b: [1] }, { a: 1, b: [1] }, []],
  [
    'a field changed',
    { a: 1, b: { c: 1, d: 2 } },
    { a: 1, b: { c: 2, d: 2 } },
    [{ op: 'replace', path: '/spec/b/c', value: 2 }],
  ],
  ['a field is new', {}, { a: { b: 1 } }, [{ op: 'add', path: '/spec/a', value: { b: 1 } }]],
  ['a field is gone', { a: 1 }, {}, [{ op: 'remove', path: '/spec/a' }]],
  ['a list changed', { a: [1, 2] }, { a: [2] }, [{ op: 'replace', path: '/spec/a', value: [2] }]],
  [
    'a key needs escaping',
    { 'a/b~c': 1 },
    { 'a/b~c': 2 },
    [{ op: 'replace', path: '/spec/a~1b~0c', value: 2 }],
  ],
])('when %s, the patch touches only that', (_, before, after, patch) => {
  expect(buildJsonPatch(before, after, '/spec')).toEqual(patch);
});

test('a second request within a millisecond is still a later one', () => {
  const now = new Date('2026-01-01T00:00:00.000Z');
  expect(deriveLaterTime(undefined, now)).toBe('2026-01-01T00:00:00.000Z');
  expect(deriveLaterTime('2026-01-01T00:00:00.000Z', now)).toBe('2026-01-01T00:00:00.001Z');
  expect(deriveLaterTime('2026-01-01T00:00:05.000Z', now)).toBe('2026-01-01T00:00:05.001Z');
});

test('a deployment with a route shows where it is, and whether callers are led to it', () => {
  const routed = {
    type: 'Routed',
    status: 'False',
    reason: 'HostTaken',
    message: 'another has it',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  } as const;
  const shown = (status: DeploymentResource['status']) =>
    toDeploymentAnswer(stored({ ...(status && { status }) }), around).route;
  expect(shown(undefined)).toBeNull();
  const answer = { status: 'False', reason: 'HostTaken', message: 'another has it' };
  expect(shown({ conditions: [routed] })).toEqual({ hosts: [], path: null, ...answer });
  expect(shown({ conditions: [routed], route: { hosts: ['a.example'], path: '/' } })).toEqual({
    hosts: ['a.example'],
    path: '/',
    ...answer,
  });
});
