import { expect, test } from 'vitest';
import { toPods } from '../../dev/cluster/native/policies/world.ts';

const pod = (spec: object, status: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', namespace: 'x', labels: { pod: 'a' } },
  spec,
  status,
});
const ADDRESSES = { podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] };

test('a pod has its addresses and the names of its ports, those of helpers that run beside it included', () => {
  const containers = [{ ports: [{ name: 'web', containerPort: 80 }, { containerPort: 81 }] }, {}];
  const initContainers = [{ ports: [{ name: 'dns', protocol: 'UDP', containerPort: 53 }] }];
  expect(toPods(pod({ containers, initContainers }, { phase: 'Running', ...ADDRESSES }))).toEqual([
    {
      name: 'a',
      namespace: 'x',
      labels: { pod: 'a' },
      addresses: ['10.0.0.1', 'fd00::1'],
      ports: [
        { name: 'web', protocol: 'TCP', port: 80 },
        { name: 'dns', protocol: 'UDP', port: 53 },
      ],
    },
  ]);
});

test.each([
  ['of the network of the node', { hostNetwork: true }, { phase: 'Running', ...ADDRESSES }],
  ['that ended well', {}, { phase: 'Succeeded', ...ADDRESSES }],
  ['that failed', {}, { phase: 'Failed', ...ADDRESSES }],
  ['that has no address yet', {}, { phase: 'Pending' }],
])('no rule is about a pod %s', (_which, spec, status) => {
  expect(toPods(pod(spec, status))).toEqual([]);
});
