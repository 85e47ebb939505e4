import { expect, test } from 'vitest';
import type { OperatorSettings, AgentNetwork } from '../../../src/config/platform/operator.ts';
import { buildAgentPolicy } from '../../../src/operator/objects/network-policies.ts';
import type { NetworkSpec } from '../../../src/schema/platform/spec/network-spec.ts';
import { deployment, settings } from '../../kit/objects.ts';

type Spec = {
  podSelector: object;
  policyTypes: string[];
  ingress?: { from: object[] }[];
  egress?: { to?: object[]; ports?: object[] }[];
};
type Given = {
  network?: NetworkSpec;
  agentNetwork?: Partial<AgentNetwork>;
  exposeAs?: OperatorSettings['exposeAs'];
  apiServer?: string[];
};

function policyOf({
  network,
  agentNetwork,
  exposeAs = 'ClusterIP',
  apiServer = [],
}: Given): Spec | undefined {
  const usual = settings();
  const installed = {
    ...usual,
    exposeAs,
    agentNetwork: { ...usual.agentNetwork, ...agentNetwork },
  };
  return buildAgentPolicy(
    deployment({ spec: { ...(network && { network }) } }),
    installed,
    apiServer,
  )[0]?.spec as Spec | undefined;
}

/** Who reads the metrics of agents, and nothing else of them. */
const READERS = {
  from: [{ namespaceSelector: { matchLabels: { 'gx.dev/metrics': 'true' } } }],
  ports: [{ protocol: 'TCP', port: 8001 }],
};
const NAMESPACE = [
  { podSelector: {} },
  { namespaceSelector: { matchLabels: { 'gx.dev/gateway': 'true' } } },
];

test('agents are reached from their namespace and by gateways, and reach all but the metadata of clouds and the API server', () => {
  expect(policyOf({ apiServer: ['10.0.0.2', '10.0.0.1', '10.0.0.2', 'fd00::1'] })).toEqual({
    podSelector: {
      matchLabels: { 'gx.dev/deployment': 'chat' },
      matchExpressions: [{ key: 'gx.dev/component', operator: 'In', values: ['api', 'queue'] }],
    },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [{ from: NAMESPACE }, READERS],
    egress: [
      {
        ports: [
          { protocol: 'UDP', port: 53 },
          { protocol: 'TCP', port: 53 },
        ],
      },
      {
        to: [
          {
            ipBlock: {
              cidr: '0.0.0.0/0',
              except: ['10.0.0.1/32', '10.0.0.2/32', '169.254.0.0/16'],
            },
          },
          { ipBlock: { cidr: '::/0', except: ['fd00::1/128', 'fd00:ec2::/32'] } },
          { namespaceSelector: {} },
        ],
      },
    ],
  });
});

test('a block without addresses of a family has no exceptions', () => {
  const [, everywhere] = policyOf({ agentNetwork: { blocked: ['169.254.0.0/16'] } })?.egress ?? [];
  expect(everywhere?.to?.[1]).toEqual({ ipBlock: { cidr: '::/0' } });
});

test('gateways of the installation are peers beside the labelled namespaces', () => {
  const gateway = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } },
  };
  expect(policyOf({ agentNetwork: { gateways: [gateway] } })?.ingress).toEqual([
    { from: [...NAMESPACE, gateway] },
    READERS,
  ]);
});

test('proxies of routes reach the API, and not the metrics', () => {
  const proxy = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'proxies' } },
  };
  const [policy] = buildAgentPolicy(deployment(), settings({ routeProxies: [proxy] }), []);
  expect(policy?.spec).toMatchObject({
    ingress: [
      { from: NAMESPACE },
      { from: [proxy], ports: [{ protocol: 'TCP', port: 8000 }] },
      READERS,
    ],
  });
});

test.each<[string, Given, string[] | undefined]>([
  ['node ports: their clients come from anywhere', { exposeAs: 'NodePort' }, ['Egress']],
  [
    'node ports, but the installation closes them',
    { exposeAs: 'NodePort', agentNetwork: { ingress: 'Namespace' } },
    ['Ingress', 'Egress'],
  ],
  [
    'node ports, but the deployment closes them',
    { exposeAs: 'NodePort', network: { ingress: 'Namespace' } },
    ['Ingress', 'Egress'],
  ],
  ['an installation that opens what comes', { agentNetwork: { ingress: 'Open' } }, ['Egress']],
  ['an installation that opens what goes', { agentNetwork: { egress: 'Open' } }, ['Ingress']],
  ['a deployment that opens what comes', { network: { ingress: 'Open' } }, ['Egress']],
  ['a deployment that opens what goes', { network: { egress: 'Open' } }, ['Ingress']],
  [
    'a deployment that limits what an installation opens',
    { agentNetwork: { egress: 'Open' }, network: { egress: 'Limited' } },
    ['Ingress', 'Egress'],
  ],
  ['both open: no policy at all', { network: { ingress: 'Open', egress: 'Open' } }, undefined],
])('%s', (_situation, given, types) => {
  expect(policyOf(given)?.policyTypes).toEqual(types);
});
