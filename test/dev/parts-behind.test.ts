import { expect, test } from 'vitest';
import { partsFor } from '../../dev/test/parts-behind.ts';
import { firstNodeParts, laterNodeParts } from '../../dev/cluster/parts.ts';

test('what builds from git and autoscalers need is not built before an agent answers', () => {
  expect([...laterNodeParts].toSorted()).toEqual(['gitea', 'metrics-server', 'registry']);
  expect(firstNodeParts).toEqual(expect.arrayContaining(['kube', 'containerd', 'runc', 'coredns', 'pause']));
});

test('suites that need no cluster compile nothing', () => {
  expect(partsFor(['check', 'agent'], undefined)).toEqual([]);
});

test('a suite in pods alone shows how its cluster is compiled, instead of waiting for a log', () => {
  expect(partsFor(['system'], 'native')).toEqual([]);
});

test('make test compiles Kubernetes first, and on kind nothing that only a native node runs', () => {
  const suites = ['check', 'agent', 'kube', 'builder', 'charts', 'system'];
  expect(partsFor(suites, 'native')).toEqual(expect.arrayContaining(['kube', 'verdict', ...firstNodeParts, ...laterNodeParts]));
  expect(partsFor(suites, 'native')[0]).toBe('kube');
  expect(partsFor(suites, 'kind')).not.toContain('containerd');
});
