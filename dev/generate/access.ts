import {
  API_KEY_COMMAND_ACCESS,
  BUILD_NAMESPACE_ACCESS,
  GIT_NAMESPACE_ACCESS,
  OWN_NAMESPACE_ACCESS,
  POD_ACCESS,
  SECRET_ACCESS,
  SERVED_NAMESPACE_ACCESS,
} from '../../src/control-plane/access.ts';
import { gatewayAccess, gatewayOwnAccess } from '../../src/gateway/access.ts';
import { operatorAccess } from '../../src/operator/access.ts';
import type { RouteKind } from '../../src/schema/platform/spec/route-place.ts';
import type { PolicyRule } from '../../src/schema/platform/spec/policy-rule.ts';
import { GROUP } from '../../src/schema/platform/objects/api-group.ts';

/**
 * The permissions of one process: in its own namespace, in each namespace whose deployments it watches, and in those
 * where agents run. Only the last allows to make pods and to touch Secrets, so where all namespaces are watched, the
 * owner of each one grants it. `ownWithApiKeys` adds to the first the permissions of the command `api-key`. `apiServer`
 * is permitted in the namespace `default`, where every cluster says where its API server is.
 */
export type Access = {
  own: PolicyRule[];
  watched: PolicyRule[];
  granted: PolicyRule[];
  /** In the namespace where builds run, if the installation has one. */
  builds?: PolicyRule[];
  /** In the namespace where BuildKit builds, if there is one, and then on all nodes. */
  buildkit?: PolicyRule[];
  nodes?: PolicyRule[];
  /** In the namespace where credentials of git hosts are kept, if builds are on. */
  git?: PolicyRule[];
  /** Both of these, for a namespace that is watched alone. */
  both: PolicyRule[];
  /** Beside those three, where the installation has routes of a kind. */
  routes?: Record<RouteKind, Pick<Access, 'watched' | 'granted' | 'both'>>;
  /** Beside `watched` of all namespaces, where routes are attached to Gateways whose features count. */
  parents?: PolicyRule[];
  ownWithApiKeys?: PolicyRule[];
  apiServer?: readonly PolicyRule[];
};

/** The rules that the sources state in their access.ts files. */
export const access: {
  operator: Access;
  controlPlane: Access;
  gateway: Access;
  apiKey: Pick<Access, 'own'>;
} = {
  operator: {
    own: [...mergeRules(operatorAccess.own), ...operatorAccess.ports],
    watched: mergeRules(operatorAccess.watched),
    granted: mergeRules([...operatorAccess.worked, ...operatorAccess.secrets]),
    both: mergeRules([...operatorAccess.worked, ...operatorAccess.secrets]),
    builds: mergeRules(operatorAccess.builds),
    buildkit: mergeRules(operatorAccess.buildkit),
    git: mergeRules(operatorAccess.git),
    nodes: mergeRules(operatorAccess.nodes),
    apiServer: operatorAccess.apiServer,
    routes: Object.fromEntries(
      Object.entries(operatorAccess.routes).map(([kind, { watched, worked }]) => [
        kind,
        { watched: mergeRules(watched), granted: mergeRules(worked), both: mergeRules(worked) },
      ]),
    ) as Record<RouteKind, Pick<Access, 'watched' | 'granted' | 'both'>>,
    parents: mergeRules(operatorAccess.parents),
  },
  controlPlane: {
    own: mergeRules(OWN_NAMESPACE_ACCESS),
    watched: mergeRules(SERVED_NAMESPACE_ACCESS),
    granted: mergeRules([...POD_ACCESS, ...SECRET_ACCESS]),
    both: mergeRules([...SERVED_NAMESPACE_ACCESS, ...POD_ACCESS, ...SECRET_ACCESS]),
    builds: mergeRules(BUILD_NAMESPACE_ACCESS),
    buildkit: mergeRules(BUILD_NAMESPACE_ACCESS),
    git: mergeRules(GIT_NAMESPACE_ACCESS),
    ownWithApiKeys: mergeRules([...OWN_NAMESPACE_ACCESS, ...API_KEY_COMMAND_ACCESS]),
  },
  gateway: {
    own: gatewayOwnAccess,
    watched: mergeRules(gatewayAccess),
    granted: [],
    both: mergeRules(gatewayAccess),
  },
  apiKey: { own: mergeRules(API_KEY_COMMAND_ACCESS) },
};

/**
 * The permissions of the command `uninstall` in all namespaces: to do an operator's work to its end, to delete
 * deployments with or without their data, and to let go those whose namespace is being deleted.
 */
export const uninstallAccess: PolicyRule[] = [
  ...mergeRules([
    ...operatorAccess.own,
    ...operatorAccess.worked,
    ...operatorAccess.secrets,
    ...operatorAccess.builds,
    ...operatorAccess.buildkit,
    ...operatorAccess.git,
    ...operatorAccess.nodes,
    ...operatorAccess.apiServer,
    ...operatorAccess.parents,
    ...Object.values(operatorAccess.routes).flatMap(({ worked }) => worked),
    { apiGroups: [GROUP], resources: ['deployments'], verbs: ['patch', 'delete'] },
    { apiGroups: [GROUP], resources: ['revisions'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
    {
      apiGroups: [''],
      resources: ['secrets', 'persistentvolumeclaims'],
      verbs: ['list', 'delete'],
    },
  ]),
  ...operatorAccess.ports,
];

/** Returns the same permissions in as few rules as possible, always in the same order. */
function mergeRules(rules: readonly PolicyRule[]): PolicyRule[] {
  const verbs = new Map<string, Set<string>>();
  for (const rule of rules) {
    for (const key of rule.apiGroups.flatMap((group) =>
      rule.resources.map((resource) => `${group}/${resource}`),
    )) {
      verbs.set(key, new Set([...(verbs.get(key) ?? []), ...rule.verbs]));
    }
  }
  const grouped = new Map<string, PolicyRule>();
  for (const [key, granted] of [...verbs].toSorted(([a], [b]) => compare(a, b))) {
    const [group = ''] = key.split('/');
    const resource = key.slice(group.length + 1);
    const sorted = [...granted].toSorted((a, b) => computeVerbOrder(a) - computeVerbOrder(b));
    const id = `${group} ${sorted.join(' ')}`;
    const rule = grouped.get(id) ?? { apiGroups: [group], resources: [], verbs: sorted };
    grouped.set(id, { ...rule, resources: [...rule.resources, resource] });
  }
  return [...grouped.values()];
}

function computeVerbOrder(verb: string): number {
  return ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'].indexOf(verb);
}

/** Compares API groups. Our own comes first, because readers look for it. */
function compare(a: string, b: string): number {
  const isOwn = (key: string) => Number(key.startsWith(`${GROUP}/`));
  return isOwn(b) - isOwn(a) || (a < b ? -1 : 1);
}
