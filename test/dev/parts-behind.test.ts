import { expect, test } from 'vitest';
import { EXTRAS } from '../../dev/cluster/provider.ts';
import { listNeededParts } from '../../dev/test/parts-behind.ts';
import { firstNodeParts, listExtraParts } from '../../dev/cluster/parts.ts';

test('what builds from git and autoscalers need is built when somebody wants it', () => {
  expect(listExtraParts(['registry', 'git'])).toEqual(['registry', 'git']);
  expect(listExtraParts(['gitea'])).toEqual(['gitea', 'git']);
  expect(listExtraParts(['metrics'])).toEqual(['metrics-server']);
  expect(firstNodeParts.filter((part) => listExtraParts(EXTRAS).includes(part))).toEqual([]);
  expect(firstNodeParts).toEqual(
    expect.arrayContaining(['kube', 'containerd', 'runc', 'coredns', 'pause']),
  );
});

test('suites that need no cluster compile nothing', () => {
  expect(listNeededParts(['check', 'agent'], undefined)).toEqual([]);
});

test('a suite in pods alone shows how its cluster is compiled, instead of waiting for a log', () => {
  expect(listNeededParts(['system'], 'native')).toEqual([]);
});

test('make test compiles Kubernetes first, no Gitea and no metrics server, and on kind nothing that only a native node runs', () => {
  const suites = ['check', 'agent', 'kube', 'builder', 'charts', 'system'];
  expect(listNeededParts(suites, 'native')).toEqual(
    expect.arrayContaining(['kube', 'verdict', ...firstNodeParts, 'registry']),
  );
  expect(
    listNeededParts(suites, 'native').filter((part) => ['gitea', 'metrics-server'].includes(part)),
  ).toEqual([]);
  expect(listNeededParts(suites, 'native')[0]).toBe('kube');
  expect(listNeededParts(suites, 'kind')).not.toContain('containerd');
});
