import type { PolicyRule } from '../../src/schema/platform/spec/policy-rule.ts';
import type { Access } from './access.ts';

const SYSTEM = 'gx-system';
const AGENTS = 'gx-agents';
/** Where every cluster says where its API server is. */
const DEFAULT = 'default';
const RBAC = 'rbac.authorization.k8s.io';

/** Returns the name of an object outside of the installation's namespaces, which no other installation has. */
const buildOutsideName = (name: string): string => `${name}.${SYSTEM}`;

type Grant = { name: string; rules: readonly PolicyRule[]; role?: string; binding?: string };

/**
 * Returns the account of one process, and its permissions in an installation with one namespace of agents. These are
 * Roles only.
 */
export function buildRbacObjects(component: string, access: Access): object[] {
  const make = buildMaker(component);
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: make.metadata(make.name, SYSTEM) },
    ...(access.own.length === 0
      ? []
      : make.granted({ name: make.name, rules: access.own, role: SYSTEM, binding: SYSTEM })),
    ...(access.apiServer === undefined
      ? []
      : make.granted({
          name: buildOutsideName(`${make.name}-api-server`),
          rules: access.apiServer,
          role: DEFAULT,
          binding: DEFAULT,
        })),
    ...make.granted({
      name: `${make.name}-watched`,
      rules: access.both,
      role: AGENTS,
      binding: AGENTS,
    }),
  ];
}

/** Returns the account of the command `api-key`, which no process of the installation has. */
export function buildCommandRbac(component: string, rules: PolicyRule[]): object[] {
  const make = buildMaker(component);
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: make.metadata(make.name, SYSTEM) },
    ...make.granted({ name: make.name, rules, role: SYSTEM, binding: SYSTEM }),
  ];
}

/** Returns the account of a command that works on all namespaces, which exists while the command is to run. */
export function buildClusterCommandRbac(component: string, rules: PolicyRule[]): object[] {
  const make = buildMaker(component);
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: make.metadata(make.name, SYSTEM) },
    ...make.granted({ name: make.name, rules }),
  ];
}

/**
 * Returns the permissions that replace those in the one namespace, for an installation that works on all namespaces.
 * Workloads and Secrets are still permitted only where agents run.
 */
export function buildClusterRbac(component: string, access: Access): object[] {
  const make = buildMaker(component);
  return [
    ...make.granted({ name: buildOutsideName(make.name), rules: access.watched }),
    ...(access.granted.length === 0
      ? []
      : make.granted({ name: `${make.name}-secrets`, rules: access.granted, binding: AGENTS })),
  ];
}

/** `role` and `binding` are the namespaces of the two objects. Without one, the object belongs to the cluster. */
function buildMaker(component: string) {
  const name = `gx-${component}`;
  const labels = {
    'app.kubernetes.io/name': 'gx-platform',
    'app.kubernetes.io/instance': 'gx',
    'app.kubernetes.io/component': component,
    'app.kubernetes.io/part-of': 'gx-platform',
  };
  const buildMetadata = (of: string, namespace: string | undefined): object => ({
    name: of,
    ...(namespace && { namespace }),
    labels,
  });
  const buildGrants = ({ name: of, rules, role, binding }: Grant): object[] => {
    const [roleKind, bindingKind] = [role, binding].map((namespace) =>
      namespace === undefined ? 'Cluster' : '',
    );
    const subjects = [{ kind: 'ServiceAccount', name, namespace: SYSTEM }];
    const roleRef = { apiGroup: RBAC, kind: `${roleKind}Role`, name: of };
    return [
      {
        apiVersion: `${RBAC}/v1`,
        kind: `${roleKind}Role`,
        metadata: buildMetadata(of, role),
        rules,
      },
      {
        apiVersion: `${RBAC}/v1`,
        kind: `${bindingKind}RoleBinding`,
        metadata: buildMetadata(of, binding),
        roleRef,
        subjects,
      },
    ];
  };
  return { name, metadata: buildMetadata, granted: buildGrants };
}

/** Returns the patches that add the permissions on routes of a kind to the Role in the one namespace of agents. */
export const buildRouteRolePatch = ({ both }: Pick<Access, 'both'>): object[] =>
  both.map((value) => ({ op: 'add', path: '/rules/-', value }));
