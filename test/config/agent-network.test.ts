import { expect, test } from 'vitest';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';

const networkOf = (env: Record<string, string>) => readOperatorConfig(env).settings.agentNetwork;

test('without settings, agents do not reach the metadata of clouds, and the operator finds the API server itself', () => {
  expect(networkOf({})).toEqual({
    egress: 'Limited',
    gateways: [],
    blocked: ['169.254.0.0/16', 'fd00:ec2::/32'],
    apiServer: [],
  });
});

test('every setting is read', () => {
  const gateway = { namespaceSelector: { matchLabels: { name: 'ingress' } } };
  const env = {
    GX_AGENT_INGRESS: 'Open',
    GX_AGENT_EGRESS: 'Open',
    GX_AGENT_GATEWAYS: JSON.stringify([gateway]),
    GX_AGENT_BLOCKED: '10.0.0.0/8, fd00::1',
    GX_API_SERVER_ADDRESSES: '192.0.2.1',
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
  };
  expect(networkOf(env)).toEqual({
    ingress: 'Open',
    egress: 'Open',
    gateways: [gateway],
    blocked: ['10.0.0.0/8', 'fd00::1', '10.96.0.1'],
    apiServer: ['192.0.2.1'],
  });
});

test('a Service of the API server that is a name is no address', () => {
  expect(networkOf({ KUBERNETES_SERVICE_HOST: 'api.example' }).blocked).toEqual([
    '169.254.0.0/16',
    'fd00:ec2::/32',
  ]);
});

test.each([
  [{ GX_AGENT_INGRESS: 'cluster' }, /GX_AGENT_INGRESS must be one of namespace, open/],
  [{ GX_AGENT_EGRESS: 'none' }, /GX_AGENT_EGRESS must be one of limited, open/],
  [{ GX_AGENT_GATEWAYS: '{}' }, /GX_AGENT_GATEWAYS must be a list of peers/],
  [{ GX_AGENT_GATEWAYS: '[{}]' }, /GX_AGENT_GATEWAYS must be a list of peers/],
  [{ GX_AGENT_GATEWAYS: '[{"selector": {}}]' }, /GX_AGENT_GATEWAYS must be a list of peers/],
  [
    { GX_AGENT_BLOCKED: '169.254.0.0/16,metadata' },
    /GX_AGENT_BLOCKED must be addresses or blocks such as 10.0.0.0\/8, which metadata is not/,
  ],
  [{ GX_AGENT_BLOCKED: '0.0.0.0/0' }, /which 0.0.0.0\/0 is not/],
  [{ GX_AGENT_BLOCKED: '10.0.0.0/33' }, /which 10.0.0.0\/33 is not/],
  [{ GX_API_SERVER_ADDRESSES: 'https://10.0.0.1' }, /GX_API_SERVER_ADDRESSES must be addresses/],
])('%o is refused', (env, problem) => {
  expect(() => networkOf(env)).toThrow(problem);
});
