import { toPolicy, type Labels, type Policy } from '../../dev/cluster/native/policies/world.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import type { Backups } from '../../src/config/platform/backups.ts';
import {
  buildAgentPolicy,
  buildDatabasePolicy,
  buildJobPolicies,
  storePolicy,
} from '../../src/operator/objects/network-policies.ts';
import type { NetworkSpec } from '../../src/schema/platform/spec/network-spec.ts';
import { buildManagedLabels, type Component } from '../../src/schema/platform/objects/labels.ts';
import { deployment, settings } from '../kit/objects.ts';
import { renderer } from '../charts/render.ts';
import type { Case } from './table.ts';

/*
 * The policies that the operator makes. In the namespace x, the deployment `chat` has an agent (a) and a database (b).
 * In y there are a gateway or another tenant. The API server is on the node, and answers on 81.
 */

/** The ports of the platform's own pods, by their names. */
export const PLATFORM_PORTS = { http: 8080, health: 8081, reports: 8082 };

const NODE = ['10.97.0.1', 'fd97::1'];
const chat = (network?: NetworkSpec) =>
  deployment({ metadata: { name: 'chat', namespace: 'x' }, spec: { ...(network && { network }) } });
const chatPolicies = (
  network?: NetworkSpec,
  overrides: Parameters<typeof settings>[0] = {},
): Policy[] =>
  [
    buildDatabasePolicy(chat(), 80),
    ...buildAgentPolicy(chat(network), settings(overrides), NODE),
  ].map((object: KubeObject) => toPolicy(object));
const is = (component: Component, name = 'chat'): Labels => ({
  pod: component,
  ...buildManagedLabels(name, component),
});
const CHAT = { 'x/a': is('api'), 'x/b': is('database') };
/** A database answers on the first, an agent's API and its metrics on the others. */
const OWN_PORTS = ['tcp/80', 'tcp/8000', 'tcp/8001'];
const FAMILY = ['tcp/80', 'tcp/81', 'udp/53', 'tcp/53'];

const charted = (await (
  await renderer()
).chart({ networkPolicy: { enabled: true } })) as unknown as KubeObject[];

/** Returns an object of the chart, as if the platform was installed in y. */
function installed(kind: string, name: string): KubeObject {
  const found = charted.find((object) => object.kind === kind && object.metadata.name === name);
  if (found === undefined) throw new Error(`The chart has no ${kind} ${name}.`);
  return { ...found, metadata: { ...found.metadata, namespace: 'y' } };
}

/** Returns the labels of the pods of a workload of the chart. */
const podLabels = (name: string): Labels =>
  (installed('Deployment', name).spec as { template: { metadata: { labels: Labels } } }).template
    .metadata.labels;

/** In y, a is the platform's gateway and b its operator. */
const PLATFORM = {
  y: { 'kubernetes.io/metadata.name': 'y' },
  'y/a': { pod: 'a', ...podLabels('gx-gateway') },
  'y/b': { pod: 'b', ...podLabels('gx-operator') },
};
const WITH_GATEWAY = { gateway: { service: 'gx-gateway', namespace: 'y' } };

/** The policies of a deployment with a database and a key-value store, to which the platform's gateway may lead. */
const sleepPolicies = (minScale: number): Policy[] => {
  const one = deployment({
    metadata: { name: 'chat', namespace: 'x' },
    template: { resourceSpec: { minScale } },
  });
  return [buildDatabasePolicy(one, 80), ...buildAgentPolicy(one, settings(WITH_GATEWAY), NODE)].map(
    toPolicy,
  );
};

/** The policies of the pods of a deployment's Jobs, where a store of backups answers on 81. */
const jobs = (targets: Backups['targets'] = { main: STORE }): Policy[] => {
  const one = deployment({
    metadata: { name: 'chat', namespace: 'x' },
    spec: { database: { backup: { target: 'main' } } },
  });
  const { backups } = settings();
  return buildJobPolicies(one, settings({ backups: { ...backups, targets } }), {
    port: 80,
    apiServer: NODE,
  }).map(toPolicy);
};
const STORE = {
  endpoint: 'https://store.example.com:81',
  bucket: 'b',
  region: '',
  prefix: '',
  pathStyle: true,
  secretName: 'store',
};

export const OURS: Case[] = [
  {
    situation: 'a pod that changes a password reaches its own database and DNS, and nobody else',
    policies: jobs(),
    labels: { ...CHAT, 'x/a': is('password') },
    ports: FAMILY,
    expected: ['- x/a > *', '+ x/a > x/b tcp/80', '+ x/a > * udp/53 tcp/53'],
  },
  {
    situation:
      'a pod that makes or restores a backup reaches its own database, and stores everywhere but at the metadata of clouds',
    policies: jobs(),
    labels: { ...CHAT, 'x/a': is('backup') },
    ports: FAMILY,
    expected: [
      '- x/a > node',
      '+ x/a > node tcp/81',
      '- x/a > metadata',
      '+ x/a > * udp/53 tcp/53',
    ],
  },
  {
    situation:
      'a store that the installation names by its address is reached there, whatever is blocked',
    policies: jobs({ main: { ...STORE, endpoint: 'https://169.254.169.254' } }),
    labels: { ...CHAT, 'x/a': is('verify') },
    expected: ['- x/a > node', '- x/a > metadata', '+ x/a > metadata ipv4'],
  },
  {
    situation:
      'where backups lie on a volume, the pod that verifies one reaches DNS alone, and one that makes it its own database',
    policies: jobs({ main: { claim: 'disk', prefix: '' } }),
    labels: { ...CHAT, 'x/a': is('verify'), 'y/a': is('verify') },
    ports: FAMILY,
    expected: ['- x/a > *', '+ x/a > * udp/53 tcp/53'],
  },
  {
    situation: 'a database takes connections of its own agents alone, and only to its port',
    policies: [toPolicy(buildDatabasePolicy(chat(), 80))],
    labels: { ...CHAT, 'y/a': is('api') },
    expected: ['- * > x/b', '+ x/a > x/b tcp/80', '- x/b > *'],
  },
  {
    situation: 'a database takes none of the agents of another deployment in its namespace',
    policies: [toPolicy(buildDatabasePolicy(chat(), 80))],
    labels: { ...CHAT, 'x/a': is('api', 'other') },
    expected: ['- * > x/b', '- x/b > *'],
  },
  {
    situation: 'a key-value store takes connections of its own agents alone, and only to its port',
    policies: [toPolicy(storePolicy(chat(), 80))],
    labels: { 'x/a': is('queue'), 'x/b': is('store'), 'y/a': is('api') },
    expected: ['- * > x/b', '+ x/a > x/b tcp/80', '- x/b > *'],
  },
  {
    situation: 'a key-value store takes none of the agents of another deployment in its namespace',
    policies: [toPolicy(storePolicy(chat(), 80))],
    labels: { 'x/a': is('api', 'other'), 'x/b': is('store') },
    expected: ['- * > x/b', '- x/b > *'],
  },
  {
    situation: 'a database takes connections of a pod that changes its password',
    policies: [toPolicy(buildDatabasePolicy(chat(), 80))],
    labels: { ...CHAT, 'x/a': is('password') },
    expected: ['- * > x/b', '+ x/a > x/b tcp/80', '- x/b > *'],
  },
  {
    situation:
      'an agent is closed to other namespaces and the world, and reaches all but the API server and the metadata',
    policies: chatPolicies(),
    labels: CHAT,
    ports: FAMILY,
    expected: [
      '- * > x/b',
      '+ x/a > x/b tcp/80',
      '- * > x/a',
      '- x/a > node',
      '- x/a > metadata',
      '+ x/a > * udp/53 tcp/53',
      '- x/a > x/b udp/53 tcp/53',
      '- x/b > *',
    ],
  },
  {
    situation: 'a gateway in a labelled namespace reaches agents, and no database',
    policies: chatPolicies(),
    labels: { ...CHAT, y: { 'gx.dev/gateway': 'true' } },
    expected: [
      '- * > x/b',
      '+ x/a > x/b tcp/80',
      '- * > x/a',
      '+ y/* > x/a',
      '- x/a > node',
      '- x/a > metadata',
      '- x/b > *',
    ],
  },
  {
    situation:
      'a Prometheus in a namespace labelled for that reads the metrics of agents, and reaches nothing else of them',
    policies: chatPolicies(),
    labels: { ...CHAT, y: { 'gx.dev/metrics': 'true' } },
    ports: OWN_PORTS,
    expected: [
      '- * > x/b',
      '+ x/a > x/b tcp/80',
      '- * > x/a',
      '+ y/* > x/a tcp/8001',
      '- x/a > node',
      '- x/a > metadata',
      '- x/b > *',
    ],
  },
  {
    situation:
      'a proxy that brings the requests of routes reaches agents, and no database; other pods of its namespace do not',
    policies: chatPolicies(undefined, {
      routeProxies: [{ namespaceSelector: {}, podSelector: { matchLabels: { app: 'proxy' } } }],
    }),
    labels: { ...CHAT, 'y/a': { app: 'proxy' } },
    ports: OWN_PORTS,
    expected: [
      '- * > x/b',
      '+ x/a > x/b tcp/80',
      '- * > x/a',
      '+ y/a > x/a tcp/8000',
      '- x/a > node',
      '- x/a > metadata',
      '- x/b > *',
    ],
  },
  {
    situation:
      'with node ports, an agent is open to all, and reaches neither the API server nor the metadata',
    policies: chatPolicies(undefined, { exposeAs: 'NodePort' }),
    labels: CHAT,
    expected: ['- * > x/b', '+ x/a > x/b tcp/80', '- x/a > node', '- x/a > metadata', '- x/b > *'],
  },
  {
    situation: 'a deployment that opens both directions keeps its database closed',
    policies: chatPolicies({ ingress: 'Open', egress: 'Open' }),
    labels: CHAT,
    expected: ['- * > x/b', '+ x/a > x/b tcp/80', '- x/b > *'],
  },
  {
    situation:
      'the gateway is open to all where agents report and callers ask, and tells its reports to the operator alone',
    policies: [toPolicy(installed('NetworkPolicy', 'gx-gateway'))],
    labels: PLATFORM,
    ports: ['tcp/80', 'tcp/8080', 'tcp/8081', 'tcp/8082', 'tcp/9999', 'tcp/10000', 'tcp/32767'],
    expected: [
      '- * > y/a',
      '+ * > y/a tcp/8080 tcp/8081 tcp/10000 tcp/32767',
      '+ y/b > y/a tcp/8082',
    ],
  },
  {
    situation:
      'the gateway reaches agents that may sleep, and no database; other pods of the platform do not',
    policies: sleepPolicies(0),
    labels: { ...CHAT, ...PLATFORM },
    ports: OWN_PORTS,
    expected: [
      '- * > x/b',
      '+ x/a > x/b tcp/80',
      '- * > x/a',
      '+ y/a > x/a tcp/8000',
      '- x/a > node',
      '- x/a > metadata',
      '- x/b > *',
    ],
  },
  {
    situation: 'the gateway does not reach agents that never sleep',
    policies: sleepPolicies(1),
    labels: { ...CHAT, ...PLATFORM },
    expected: [
      '- * > x/b',
      '+ x/a > x/b tcp/80',
      '- * > x/a',
      '- x/a > node',
      '- x/a > metadata',
      '- x/b > *',
    ],
  },
  {
    situation: 'the console reaches agents, and no database; other pods of the platform do not',
    policies: chatPolicies(undefined, { console: { namespace: 'y' } }),
    labels: { ...CHAT, ...PLATFORM, 'y/a': { pod: 'a', ...podLabels('gx-console') } },
    ports: OWN_PORTS,
    expected: [
      '- * > x/b',
      '+ x/a > x/b tcp/80',
      '- * > x/a',
      '+ y/a > x/a tcp/8000',
      '- x/a > node',
      '- x/a > metadata',
      '- x/b > *',
    ],
  },
  {
    situation: 'a key-value store takes no connection of the gateway',
    policies: [toPolicy(storePolicy(chat(), 80))],
    labels: { 'x/a': is('queue'), 'x/b': is('store'), ...PLATFORM },
    expected: ['- * > x/b', '+ x/a > x/b tcp/80', '- x/b > *'],
  },
];
