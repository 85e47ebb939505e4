import { expect, test } from 'vitest';
import {
  buildAgentService,
  buildAgentUrl,
} from '../../../src/operator/deployment/parts/service.ts';
import { deployment, settings } from '../../kit/objects.ts';

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's' },
  spec: { ports: [{ nodePort: 30080 }] },
};
const nodePort = { exposeAs: 'NodePort' as const, nodeHost: 'node.example' };

test.each([
  [
    'the name inside the cluster',
    deployment(),
    settings(),
    'http://chat-agent.team.svc.cluster.local',
  ],
  [
    'the node port where there is one',
    deployment(),
    settings(nodePort),
    'http://node.example:30080',
  ],
  [
    "the user's own address before all others",
    deployment({ spec: { sourceConfig: { customUrl: 'https://chat.example' } } }),
    settings(nodePort),
    'https://chat.example',
  ],
])('the url is %s', (_, given, install, expected) => {
  expect(buildAgentUrl(given, install, { service })).toBe(expected);
});

test('the Service asks for an address of each family that the cluster has', () => {
  expect(buildAgentService(deployment(), settings(), { active: 'chat-00001' }).spec).toMatchObject({
    ipFamilyPolicy: 'PreferDualStack',
  });
});

test('the url has what stands before every path, and the user writes it into an address of its own', () => {
  const mounted = { service, mountPrefix: '/agents' };
  expect(buildAgentUrl(deployment(), settings(), mounted)).toBe(
    'http://chat-agent.team.svc.cluster.local/agents',
  );
  const own = deployment({ spec: { sourceConfig: { customUrl: 'https://chat.example' } } });
  expect(buildAgentUrl(own, settings(), mounted)).toBe('https://chat.example');
});
