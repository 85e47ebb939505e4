import { isIP } from 'node:net';
import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import {
  COMPONENT,
  DATABASE_USERS,
  DEPLOYMENT,
  GATEWAY,
  METRICS_READER,
  type Component,
} from '../../schema/platform/objects/labels.ts';
import { AGENT_PORTS, toLabelValue, names } from '../../schema/names.ts';
import { isArchived } from '../../schema/platform/backup/backup-spec.ts';
import { isClaimTarget } from '../../schema/wire/backup-message.ts';
import { ARCHIVE_PORT } from '../../schema/wire/pgbackrest.ts';
import { buildAppliedMetadata } from './metadata.ts';
import { isSleeper } from '../rollout/sleepers.ts';

/*
 * Every NetworkPolicy that the operator makes: who reaches the pods of a deployment, and whom they reach. A further
 * peer is a row in one of the lists.
 */

type Peer = {
  podSelector?: object;
  namespaceSelector?: object;
  ipBlock?: { cidr: string; except?: string[] };
};
type Port = { protocol: 'TCP' | 'UDP'; port: number };
type Rule = { peers?: Peer[]; ports?: Port[] };
/** Rules for a direction. Without any, the policy is not about that direction. */
type Policy = {
  component: Component;
  name: string;
  pods: readonly Component[];
  ingress?: Rule[];
  egress?: Rule[];
};

/**
 * Lets only the deployment's own pods reach its database: its agents, and those that change its password. Jobs that
 * copy its files reach the port for them. The database itself reaches nobody, but for the stores of `buildJobPolicies`.
 */
export const buildDatabasePolicy = (deployment: DeploymentResource, port: number): KubeObject =>
  buildNetworkPolicy(deployment, {
    component: 'database',
    name: names.databasePolicy(deployment.metadata.name),
    pods: ['database'],
    ingress: [
      { peers: [buildPodPeer(deployment, DATABASE_USERS)], ports: [{ protocol: 'TCP', port }] },
      ...(isArchived(deployment)
        ? [
            {
              peers: [buildPodPeer(deployment, ['backup'])],
              ports: [{ protocol: 'TCP' as const, port: ARCHIVE_PORT }],
            },
          ]
        : []),
    ],
    egress: [],
  });

/**
 * Lets the pods of Jobs for a managed database reach no more than DNS, their own database, and the stores of backups
 * where the installation has some. They run programs on data of the tenant.
 */
export function buildJobPolicies(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { port, apiServer }: { port: number; apiServer: readonly string[] },
): KubeObject[] {
  const { name } = deployment.metadata;
  const { backup, restore } = deployment.spec.database ?? {};
  const ports = [port, ...(isArchived(deployment) ? [ARCHIVE_PORT] : [])].map((each): Port => ({
    protocol: 'TCP',
    port: each,
  }));
  const database = { peers: [buildPodPeer(deployment, ['database'])], ports };
  const hasStores = backup !== undefined || restore !== undefined;
  return [
    buildNetworkPolicy(deployment, {
      component: 'database',
      name: names.databaseJobsPolicy(name),
      pods: ['password', 'backup', 'restore'],
      egress: [DNS, database],
    }),
    ...(hasStores
      ? [
          buildNetworkPolicy(deployment, {
            component: 'backup',
            name: names.storesPolicy(name),
            // A database sends its log to its store, and is filled from one.
            pods: [
              'backup',
              'restore',
              'verify',
              ...(isArchived(deployment) || restore !== undefined ? ['database' as const] : []),
            ],
            egress: [DNS, ...buildStoreRules(settings, apiServer)],
          }),
        ]
      : []),
  ];
}

/** Ports at which API servers answer. */
const API_SERVER_PORTS = [443, 6443];

/**
 * Returns the rules for the stores that speak S3. Where a store is, its name says only later, so that pods reach all
 * but the API server and the blocked addresses. A store may be at an address that is blocked, or beside an API server.
 */
function buildStoreRules(
  { backups, agentNetwork }: OperatorSettings,
  apiServer: readonly string[],
): Rule[] {
  const endpoints = Object.values(backups.targets).flatMap((target) =>
    isClaimTarget(target) ? [] : [new URL(target.endpoint)],
  );
  if (endpoints.length === 0) return [];
  const hosts = endpoints
    .map(({ hostname }) => hostname.replace(/^\[|\]$/g, ''))
    .filter((host) => isIP(host) !== 0);
  const ports = [...new Set(endpoints.map(({ port }) => Number(port)))].filter(
    (port) => port !== 0 && !API_SERVER_PORTS.includes(port),
  );
  return [
    { peers: buildOutsidePeers([...agentNetwork.blocked, ...apiServer]) },
    ...(hosts.length === 0 ? [] : [{ peers: buildBlockPeers(hosts) }]),
    ...(ports.length === 0 || apiServer.length === 0
      ? []
      : [
          {
            peers: buildBlockPeers(apiServer),
            ports: ports.map((port): Port => ({ protocol: 'TCP', port })),
          },
        ]),
  ];
}

const buildBlockPeers = (addresses: readonly string[]): Peer[] =>
  [false, true].flatMap((six) =>
    (buildExceptions([...addresses], six).except ?? []).map((cidr) => ({ ipBlock: { cidr } })),
  );

/** Lets only the deployment's own agents reach its key-value store, which reaches nobody itself. */
export const storePolicy = (deployment: DeploymentResource, port: number): KubeObject =>
  buildNetworkPolicy(deployment, {
    component: 'store',
    name: names.store(deployment.metadata.name),
    pods: ['store'],
    ingress: [
      { peers: [buildPodPeer(deployment, ['api', 'queue'])], ports: [{ protocol: 'TCP', port }] },
    ],
    egress: [],
  });

/**
 * Returns the policy of a deployment's agents, unless they are open in both directions. `apiServer` are addresses of
 * the API server.
 */
export function buildAgentPolicy(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  apiServer: readonly string[],
): KubeObject[] {
  const { agentNetwork } = settings;
  const ingress = isIngressOpen(deployment, settings) ? 'Open' : 'Namespace';
  const { egress = agentNetwork.egress } = deployment.spec.network ?? {};
  if (ingress === 'Open' && egress === 'Open') return [];
  return [
    buildNetworkPolicy(deployment, {
      component: 'agent',
      name: names.agentPolicy(deployment.metadata.name),
      pods: ['api', 'queue'],
      ...(ingress === 'Namespace' && {
        ingress: [
          { peers: buildCallerPeers(settings) },
          ...buildApiRules([
            ...settings.routeProxies,
            ...buildGatewayPeers(deployment, settings),
            ...buildConsolePeers(settings),
          ]),
          { peers: METRICS_READERS, ports: [{ protocol: 'TCP', port: AGENT_PORTS.metrics }] },
        ],
      }),
      ...(egress === 'Limited' && {
        egress: [DNS, { peers: buildOutsidePeers([...agentNetwork.blocked, ...apiServer]) }],
      }),
    }),
  ];
}

/** Returns true if everybody reaches the agents of a deployment. */
export function isIngressOpen(
  { spec }: DeploymentResource,
  { agentNetwork, exposeAs }: OperatorSettings,
): boolean {
  const usual = agentNetwork.ingress ?? (exposeAs === 'NodePort' ? 'Open' : 'Namespace');
  return (spec.network?.ingress ?? usual) === 'Open';
}

/** Lets those who bring the requests of others reach the API, and not the metrics. */
const buildApiRules = (peers: Peer[]): Rule[] =>
  peers.length === 0 ? [] : [{ peers, ports: [{ protocol: 'TCP', port: AGENT_PORTS.http }] }];

/** All pods of namespaces that an administrator has labelled for this. */
const METRICS_READERS: Peer[] = [
  { namespaceSelector: { matchLabels: { [METRICS_READER]: 'true' } } },
];

/** Who reaches an agent that is not open, at each of its ports. */
const buildCallerPeers = ({ agentNetwork }: OperatorSettings): Peer[] => [
  // All pods of its own namespace.
  { podSelector: {} },
  // All pods of namespaces that an administrator has labelled.
  { namespaceSelector: { matchLabels: { [GATEWAY]: 'true' } } },
  ...agentNetwork.gateways,
];

/** The platform's gateway reaches agents that may sleep. */
const buildGatewayPeers = (deployment: DeploymentResource, settings: OperatorSettings): Peer[] =>
  settings.gateway === undefined || !isSleeper(deployment, settings)
    ? []
    : [buildPlatformPeer('gateway', settings.gateway)];

/** The console shows agents to the users of the platform. */
const buildConsolePeers = ({ console: place }: OperatorSettings): Peer[] =>
  place === undefined ? [] : [buildPlatformPeer('console', place)];

const buildPlatformPeer = (component: string, { namespace }: { namespace: string }): Peer => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
  podSelector: {
    matchLabels: {
      'app.kubernetes.io/name': 'gx-platform',
      'app.kubernetes.io/component': component,
    },
  },
});

/** DNS servers may have an address that is blocked: that of a node, or a link-local one. */
const DNS: Rule = {
  ports: [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ],
};

/** Whom an agent reaches that is not open: everybody but these addresses. */
const buildOutsidePeers = (blocked: string[]): Peer[] => [
  { ipBlock: { cidr: '0.0.0.0/0', ...buildExceptions(blocked, false) } },
  { ipBlock: { cidr: '::/0', ...buildExceptions(blocked, true) } },
  // For networks whose address blocks mean the world outside the cluster alone.
  { namespaceSelector: {} },
];

/** Returns the blocks of one family of addresses, in an order that does not depend on how they were found. */
function buildExceptions(addresses: string[], six: boolean): { except?: string[] } {
  const some = addresses.filter((address) => address.includes(':') === six);
  const except = [
    ...new Set(
      some.map((address) => (address.includes('/') ? address : `${address}/${six ? 128 : 32}`)),
    ),
  ].toSorted();
  return except.length === 0 ? {} : { except };
}

const buildPodPeer = (
  { metadata }: DeploymentResource,
  components: readonly Component[],
): Peer => ({
  podSelector: buildSelector(metadata.name, components),
});

const buildSelector = (name: string, components: readonly Component[]): object => {
  const [only] = components;
  const matchLabels = { [DEPLOYMENT]: toLabelValue(name) };
  return components.length === 1
    ? { matchLabels: { ...matchLabels, [COMPONENT]: only } }
    : { matchLabels, matchExpressions: [{ key: COMPONENT, operator: 'In', values: components }] };
};

function buildNetworkPolicy(
  deployment: DeploymentResource,
  { component, name, pods, ingress, egress }: Policy,
): KubeObject {
  const buildPorts = (ports: Port[] | undefined): object => (ports === undefined ? {} : { ports });
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: buildAppliedMetadata(deployment, component, name),
    spec: {
      podSelector: buildSelector(deployment.metadata.name, pods),
      policyTypes: [
        ...(ingress === undefined ? [] : ['Ingress']),
        ...(egress === undefined ? [] : ['Egress']),
      ],
      ...(ingress && {
        ingress: ingress.map(({ peers, ports }) => ({
          ...(peers && { from: peers }),
          ...buildPorts(ports),
        })),
      }),
      ...(egress && {
        egress: egress.map(({ peers, ports }) => ({
          ...(peers && { to: peers }),
          ...buildPorts(ports),
        })),
      }),
    },
  };
}
