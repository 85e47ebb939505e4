import { buildNamespaces } from '../../config/platform/builder.ts';
import { kinds } from '../../kube/kinds.ts';
import { PORTS_CONFIG_MAP } from '../../schema/platform/objects/kept-ports.ts';
import { OF_SERVICE, OPERATOR, WRITTEN_BY } from '../../schema/platform/objects/labels.ts';
import type { RouteKind } from '../../schema/platform/spec/route-place.ts';
import { pickRouteStatus } from '../routes/stored.ts';
import { trimAccount } from '../pods/account-secrets.ts';
import { isUnreported, trimPod, pickPodStatus } from '../pods/lean-pod.ts';
import { pickWorkloadFacts, findScalingCondition } from '../pods/workload-state.ts';
import type { OperatorConfig } from '../../config/platform/operator.ts';
import {
  buildWatchScopes,
  buildOwnNamespaceScope,
  buildLabelScopes,
  MADE_HERE,
  madeObjects,
  type KindRight,
  type KindTable,
} from './row.ts';

/** The rights on a kind whose objects the operator makes. */
const MAKING: KindRight[] = [
  { at: 'worked', verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
];

/** The row of a kind whose objects belong to the desired state of a deployment or revision. */
const DESIRED = {
  cached: 'packed',
  scope: madeObjects,
  child: 'deployment',
  written: true,
  removed: 'last',
  rights: MAKING,
} as const;

const buildRouteUseTest =
  (kind: RouteKind) =>
  ({ route, formerRoutes }: OperatorConfig['settings']): boolean =>
    route?.kind === kind || formerRoutes.includes(kind);

/** Returns the row of a kind of routes. An installation without routes has no right to it, and does not watch it. */
const buildRouteRow = (kind: RouteKind) => ({
  ...DESIRED,
  dispensable: true,
  isUsed: buildRouteUseTest(kind),
  scope: (config: OperatorConfig) =>
    buildRouteUseTest(kind)(config.settings) ? madeObjects(config) : [],
  statusRead: pickRouteStatus,
  rights: [
    { at: kind, verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
  ] satisfies KindRight[],
});

/** Pods and Jobs of builds are in namespaces of their own. */
const BUILDS = ['builds', 'buildkit'] as const;
const buildBuildRights = (right: Omit<KindRight, 'at'>): KindRight[] =>
  BUILDS.map((at) => ({ at, ...right }));

/** Returns the namespaces of builds that the operator does not work on otherwise. */
const listSeparateBuilds = ({ namespaces, settings }: OperatorConfig): string[] =>
  buildNamespaces(settings.builder).filter(
    (name) => namespaces.length > 0 && !namespaces.includes(name),
  );

/**
 * All kinds of objects that the operator works with, by the names of their caches. EndpointSlices have three, because
 * those of a deployment, of the API server and of gateways have nothing to do with each other.
 */
export const OPERATOR_KINDS = {
  listeners: {
    kind: kinds.listener,
    cached: 'parsed',
    scope: buildOwnNamespaceScope,
    rights: [
      { at: 'own', verbs: ['list', 'watch'] },
      { at: 'own', verbs: ['patch'], part: 'status' },
    ],
  },
  gitIntegrations: {
    kind: kinds.gitIntegration,
    cached: 'parsed',
    scope: buildOwnNamespaceScope,
    rights: [{ at: 'own', verbs: ['list', 'watch'] }],
  },
  // Namespaces that a Listener names are read one by one. A label says which tenant a namespace has joined.
  namespaces: {
    kind: kinds.namespace,
    cached: 'parsed',
    rights: [{ at: 'worked', verbs: ['get'] }],
  },
  apiServers: {
    kind: kinds.endpointSlice,
    cached: 'parsed',
    // The slice with the addresses of the API server has these names in every cluster.
    scope: ({ settings }) =>
      settings.agentNetwork.apiServer.length > 0
        ? []
        : [{ namespace: 'default', only: 'kubernetes' }],
    rights: [{ at: 'apiServer', verbs: ['list', 'watch'], only: 'kubernetes' }],
  },
  gateways: {
    kind: kinds.endpointSlice,
    cached: 'parsed',
    scope: ({ settings: { gateway } }) =>
      gateway === undefined
        ? []
        : [{ namespace: gateway.namespace, labelSelector: `${OF_SERVICE}=${gateway.service}` }],
    rights: [{ at: 'own', verbs: ['list', 'watch'] }],
  },
  tracingProjects: {
    kind: kinds.tracingProject,
    cached: 'packed',
    scope: buildWatchScopes,
    written: true,
    rights: [{ at: 'worked', verbs: ['list', 'watch', 'create', 'delete'] }],
  },
  pods: {
    kind: kinds.pod,
    cached: 'packed',
    projection: trimPod,
    scope: (config) => [
      ...listSeparateBuilds(config).map((namespace) => ({ namespace, labelSelector: MADE_HERE })),
      ...madeObjects(config),
    ],
    child: 'revision',
    statusRead: pickPodStatus,
    isSilent: isUnreported,
    removed: 'follows',
    rights: [
      { at: 'worked', verbs: ['list', 'watch'] },
      { at: 'worked', verbs: ['get'], part: 'log' },
      ...buildBuildRights({ verbs: ['list', 'watch'] }),
      ...buildBuildRights({ verbs: ['get'], part: 'log' }),
    ],
  },
  workloads: {
    ...DESIRED,
    kind: kinds.workload,
    child: 'revision',
    statusRead: pickWorkloadFacts,
    removed: 'first',
  },
  statefulSets: { ...DESIRED, kind: kinds.statefulSet, statusRead: pickWorkloadFacts },
  services: { ...DESIRED, kind: kinds.service },
  policies: { ...DESIRED, kind: kinds.networkPolicy },
  budgets: { ...DESIRED, kind: kinds.disruptionBudget },
  // They lead to the gateway while a deployment sleeps. Kubernetes gives its own slices the labels of their Service.
  slices: {
    ...DESIRED,
    kind: kinds.endpointSlice,
    scope: (config) =>
      config.settings.gateway === undefined
        ? []
        : buildLabelScopes(`${WRITTEN_BY}=${OPERATOR}`)(config),
  },
  httpRoutes: { ...buildRouteRow('HTTPRoute'), kind: kinds.httpRoute, optional: true },
  ingresses: { ...buildRouteRow('Ingress'), kind: kinds.ingress },
  autoscalers: { ...DESIRED, kind: kinds.autoscaler, statusRead: findScalingCondition },
  revisions: {
    kind: kinds.revision,
    cached: 'packed',
    scope: buildWatchScopes,
    written: true,
    removed: 'first',
    rights: [
      { at: 'worked', verbs: ['list', 'watch', 'create', 'delete'] },
      { at: 'worked', verbs: ['patch'], part: 'status' },
      // Anyone who sets blockOwnerDeletion must be allowed to change the owner's finalizers.
      { at: 'worked', verbs: ['update'], part: 'finalizers' },
      // A revision whose build lies elsewhere has a finalizer.
      { at: 'staged', verbs: ['get', 'patch'] },
    ],
  },
  backups: {
    kind: kinds.backup,
    cached: 'packed',
    scope: buildWatchScopes,
    written: true,
    removed: 'last',
    rights: [
      { at: 'worked', verbs: ['list', 'watch', 'create', 'delete'] },
      { at: 'worked', verbs: ['patch'], part: 'status' },
    ],
  },
  deployments: {
    kind: kinds.deployment,
    cached: 'packed',
    scope: buildWatchScopes,
    rights: [
      { at: 'worked', verbs: ['get', 'list', 'watch', 'patch'] },
      { at: 'worked', verbs: ['patch'], part: 'status' },
      { at: 'worked', verbs: ['update'], part: 'finalizers' },
    ],
  },
  /*
   * The operator creates credentials of databases and the Secrets of revisions, reads them by name, lists them by label
   * (when a deployment is deleted, and to find those nothing refers to), deletes them, and patches those of
   * certificates. These rights are apart from the others because no installation grants them for the whole cluster:
   * Kubernetes can't grant them by label.
   */
  secrets: {
    kind: kinds.secret,
    written: true,
    rights: [
      { at: 'secrets', verbs: ['get', 'list', 'create', 'patch', 'delete'] },
      // A build gets a Secret beside its Job for its git host, and is lent the credential with which images are pushed.
      { at: 'builds', verbs: ['get', 'list', 'create', 'delete'] },
      // No Secret is read where BuildKit builds. Each build is lent one of its own.
      { at: 'buildkit', verbs: ['list', 'create', 'delete'] },
      { at: 'git', verbs: ['get'] },
    ],
  },
  configMaps: {
    kind: kinds.configMap,
    written: true,
    rights: [
      // The log of a build is kept in a ConfigMap of its revision.
      { at: 'staged', verbs: ['create'] },
      // Builds elsewhere are lent the certificate authorities of this namespace.
      { at: 'builds', verbs: ['get'] },
      { at: 'ports', verbs: ['create'] },
      { at: 'ports', verbs: ['get', 'patch'], only: PORTS_CONFIG_MAP },
    ],
  },
  // In the namespaces of deployments, Jobs exist only while a password is being changed or a backup is made.
  jobs: {
    kind: kinds.job,
    written: true,
    removed: 'first',
    rights: [
      { at: 'worked', verbs: ['list', 'create', 'delete'] },
      ...buildBuildRights({ verbs: ['list', 'create', 'delete'] }),
    ],
  },
  volumeClaims: {
    kind: kinds.volumeClaim,
    written: true,
    rights: [{ at: 'worked', verbs: ['get', 'list', 'patch', 'delete'] }],
  },
  events: {
    kind: kinds.event,
    // Only the events of a Job say why it has no pod.
    rights: [
      { at: 'worked', verbs: ['list', 'create'] },
      { at: 'own', verbs: ['create'] },
      ...buildBuildRights({ verbs: ['list'] }),
    ],
  },
  // Pods keep the pull Secrets of their accounts where an installation adds its own.
  accounts: {
    kind: kinds.serviceAccount,
    cached: 'parsed',
    projection: trimAccount,
    scope: (config) =>
      config.settings.imagePullSecrets.length > 0
        ? [
            ...listSeparateBuilds(config).map((namespace) => ({ namespace })),
            ...buildWatchScopes(config),
          ]
        : [],
    rights: [
      { at: 'worked', verbs: ['list', 'watch'] },
      ...buildBuildRights({ verbs: ['list', 'watch'] }),
    ],
  },
  leases: { kind: kinds.lease, rights: [{ at: 'own', verbs: ['get', 'create', 'update'] }] },
  // Nodes say whether pods can have users of their own, without which BuildKit is not started.
  // Gateways and their classes say whether a route may ask for no time limit.
  routeParents: { kind: kinds.gateway, rights: [{ at: 'parents', verbs: ['get'] }] },
  routeParentClasses: { kind: kinds.gatewayClass, rights: [{ at: 'parents', verbs: ['get'] }] },
  nodes: { kind: kinds.node, rights: [{ at: 'nodes', verbs: ['list'] }] },
} satisfies KindTable;
