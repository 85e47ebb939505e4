import { expect, test } from 'vitest';
import { EXTRAS } from '../../dev/cluster/provider.ts';
import { partsFor } from '../../dev/test/parts-behind.ts';
import { firstNodeParts, partsOfExtras } from '../../dev/cluster/parts.ts';

test('what builds from git and autoscalers need is built when somebody wants it', () => {
  expect(partsOfExtras(['registry', 'git'])).toEqual(['registry', 'git']);
  expect(partsOfExtras(['gitea'])).toEqual(['gitea', 'git']);
  expect(partsOfExtras(['metrics'])).toEqual(['metrics-server']);
  expect(firstNodeParts.filter((part) => partsOfExtras(EXTRAS).includes(part))).toEqual([]);
  expect(firstNodeParts).toEqual(expect.arrayContaining(['kube', 'containerd', 'runc', 'coredns', 'pause']));
});

test('suites that need no cluster compile nothing', () => {
  expect(partsFor(['check', 'agent'], undefined)).toEqual([]);
});

test('a suite in pods alone shows how its cluster is compiled, instead of waiting for a log', () => {
  expect(partsFor(['system'], 'native')).toEqual([]);
});

test('make test compiles Kubernetes first, no Gitea and no metrics server, and on kind nothing that only a native node runs', () => {
  const suites = ['check', 'agent', 'kube', 'builder', 'charts', 'system'];
  expect(partsFor(suites, 'native')).toEqual(expect.arrayContaining(['kube', 'verdict', ...firstNodeParts, 'registry']));
  expect(partsFor(suites, 'native').filter((part) => ['gitea', 'metrics-server'].includes(part))).toEqual([]);
  expect(partsFor(suites, 'native')[0]).toBe('kube');
  expect(partsFor(suites, 'kind')).not.toContain('containerd');
});
