import { policyFrom, type Labels, type Policy } from '../../dev/cluster/native/policies/world.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { agentPolicy, databasePolicy, storePolicy } from '../../src/operator/family/network-policies.ts';
import type { NetworkSpec } from '../../src/schema/network-spec.ts';
import { ownLabels, type Component } from '../../src/schema/labels.ts';
import { deployment, settings } from '../kit/objects.ts';
import type { Case } from './table.ts';

/*
 * The policies that the operator makes. In the namespace x, the deployment `chat` has an agent (a) and a database (b).
 * In y there are a gateway or another tenant. The API server is on the node, and answers on 81.
 */

const NODE = ['10.97.0.1', 'fd97::1'];
const chat = (network?: NetworkSpec) => deployment({ metadata: { name: 'chat', namespace: 'x' }, spec: { ...(network && { network }) } });
const chatPolicies = (network?: NetworkSpec, overrides: Parameters<typeof settings>[0] = {}): Policy[] =>
  [databasePolicy(chat(), 80), ...agentPolicy(chat(network), settings(overrides), NODE)].map((object: KubeObject) => policyFrom(object));
const is = (component: Component, name = 'chat'): Labels => ({ pod: component, ...ownLabels(name, component) });
const CHAT = { 'x/a': is('api'), 'x/b': is('database') };
const FAMILY = ['tcp/80', 'tcp/81', 'udp/53', 'tcp/53'];

export const OURS: Case[] = [
  {
    situation: 'a database takes connections of its own agents alone, and only to its port',
    policies: [policyFrom(databasePolicy(chat(), 80))],
    labels: { ...CHAT, 'y/a': is('api') },
    expected: ['- * > x/b', '+ x/a > x/b tcp/80'],
  },
  {
    situation: 'a database takes none of the agents of another deployment in its namespace',
    policies: [policyFrom(databasePolicy(chat(), 80))],
    labels: { ...CHAT, 'x/a': is('api', 'other') },
    expected: ['- * > x/b'],
  },
  {
    situation: 'a key-value store takes connections of its own agents alone, and only to its port',
    policies: [policyFrom(storePolicy(chat(), 80))],
    labels: { 'x/a': is('queue'), 'x/b': is('store'), 'y/a': is('api') },
    expected: ['- * > x/b', '+ x/a > x/b tcp/80'],
  },
  {
    situation: 'a key-value store takes none of the agents of another deployment in its namespace',
    policies: [policyFrom(storePolicy(chat(), 80))],
    labels: { 'x/a': is('api', 'other'), 'x/b': is('store') },
    expected: ['- * > x/b'],
  },
  {
    situation: 'a database takes connections of a pod that changes its password',
    policies: [policyFrom(databasePolicy(chat(), 80))],
    labels: { ...CHAT, 'x/a': is('password') },
    expected: ['- * > x/b', '+ x/a > x/b tcp/80'],
  },
  {
    situation: 'an agent is closed to other namespaces and the world, and reaches all but the API server and the metadata',
    policies: chatPolicies(),
    labels: CHAT,
    ports: FAMILY,
    expected: [
      '- * > x/b',
      '+ x/a > x/b tcp/80',
      '- * > x/a',
      '+ x/b > x/a',
      '- x/a > node',
      '- x/a > metadata',
      '+ x/a > * udp/53 tcp/53',
      '- x/a > x/b udp/53 tcp/53',
    ],
  },
  {
    situation: 'a gateway in a labelled namespace reaches agents, and no database',
    policies: chatPolicies(),
    labels: { ...CHAT, y: { 'gx.dev/gateway': 'true' } },
    expected: ['- * > x/b', '+ x/a > x/b tcp/80', '- * > x/a', '+ x/b > x/a', '+ y/* > x/a', '- x/a > node', '- x/a > metadata'],
  },
  {
    situation: 'with node ports, an agent is open to all, and reaches neither the API server nor the metadata',
    policies: chatPolicies(undefined, { exposeAs: 'NodePort' }),
    labels: CHAT,
    expected: ['- * > x/b', '+ x/a > x/b tcp/80', '- x/a > node', '- x/a > metadata'],
  },
  {
    situation: 'a deployment that opens both directions keeps its database closed',
    policies: chatPolicies({ ingress: 'Open', egress: 'Open' }),
    labels: CHAT,
    expected: ['- * > x/b', '+ x/a > x/b tcp/80'],
  },
];
