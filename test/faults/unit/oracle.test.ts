import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import type { Entry } from '../../kit/fault-proxy.ts';
import { faultsOf, type World } from '../oracle.ts';

const UIDS = {
  a: 'aaaaaaaa-1111-4111-8111-111111111111',
  b: 'bbbbbbbb-2222-4222-8222-222222222222',
};
type Run = keyof typeof UIDS;

const owner = (run: Run) => [
  {
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Deployment',
    name: 'chat',
    uid: UIDS[run],
    controller: true,
  },
];

const deploymentOf = (run: Run): KubeObject => ({
  apiVersion: 'gx.dev/v1alpha1',
  kind: 'Deployment',
  metadata: {
    name: 'chat',
    namespace: `ns-${run}`,
    uid: UIDS[run],
    resourceVersion: run === 'a' ? '7' : '99',
  },
  spec: {},
  status: { phase: 'READY', url: `http://chat-agent.ns-${run}.svc` },
});
const service = (run: Run, selector = 'chat-00001'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: 'chat-agent',
    namespace: `ns-${run}`,
    uid: `s-${run}`,
    ownerReferences: owner(run),
    annotations: { 'gx.dev/deployment': 'chat' },
  },
  spec: {
    clusterIP: run === 'a' ? '10.0.0.4' : '10.0.0.9',
    selector: { 'gx.dev/revision': selector },
  },
});
const pod = (run: Run, name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: `ns-${run}`, uid: name, labels: { 'pod-template-hash': name } },
  spec: {},
  status: { phase: 'Running' },
});
const made = (status = 201, name = 'chat-agent'): Entry => ({
  verb: 'apply',
  resource: 'services',
  name,
  path: '',
  at: 0,
  status,
});
const removed = (name: string): Entry => ({ ...made(200, name), verb: 'delete' });

const worldOf = (run: Run, objects: KubeObject[], journal: Entry[] = [made()]): World => ({
  namespace: `ns-${run}`,
  objects,
  journal,
});
const clean = worldOf('a', [deploymentOf('a'), service('a'), pod('a', 'x')]);

test('two runs differ in uids, versions, addresses, namespaces and names of pods, which is no fault', () => {
  expect(faultsOf(worldOf('b', [service('b'), pod('b', 'y'), deploymentOf('b')]), clean)).toEqual(
    [],
  );
});

describe('a fault is told', () => {
  const whole = [deploymentOf('b'), service('b'), pod('b', 'y')];
  test.each<[string, World, string]>([
    [
      'a missing object',
      worldOf('b', [deploymentOf('b'), pod('b', 'y')]),
      'missing: Service chat-agent',
    ],
    [
      'an object too many',
      worldOf('b', [
        ...whole,
        { ...service('b'), metadata: { ...service('b').metadata, name: 'more' } },
      ]),
      'left over: Service more',
    ],
    ['a pod too many', worldOf('b', [...whole, pod('b', 'z')]), 'differs: 2 INSTEAD OF 1'],
    [
      'another value',
      worldOf('b', [deploymentOf('b'), service('b', 'chat-00002'), pod('b', 'y')]),
      'Service chat-agent differs',
    ],
    [
      'an owner that is gone',
      worldOf('b', [service('b'), pod('b', 'y')]),
      'whose owner Deployment chat is gone',
    ],
    [
      'a second creation',
      worldOf('b', whole, [made(), made(200), made()]),
      'created 2 times: services chat-agent',
    ],
    [
      'a deletion',
      worldOf('b', whole, [made(), removed('chat-agent')]),
      'deleted: services chat-agent',
    ],
  ])('%s', (_, world, fault) => {
    expect(faultsOf(world, clean).join('\n')).toContain(fault);
  });
});
