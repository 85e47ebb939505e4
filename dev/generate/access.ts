import { API_KEY_COMMAND_ACCESS, OWN_NAMESPACE_ACCESS, SECRET_ACCESS, SERVED_NAMESPACE_ACCESS } from '../../src/control-plane/access.ts';
import { operatorAccess } from '../../src/operator/access.ts';
import type { PolicyRule } from '../../src/schema/policy-rule.ts';
import { GROUP } from '../../src/schema/custom-resources.ts';

/**
 * What one process may do: in its own namespace, in each namespace whose deployments it works on, and on Secrets where
 * agents run. `ownWithApiKeys` adds to the first what the command `api-key` needs.
 */
export type Access = { own: PolicyRule[]; watched: PolicyRule[]; secrets: PolicyRule[]; ownWithApiKeys?: PolicyRule[] };

/** The rules that the sources state in their access.ts files. */
export const access: { operator: Access; controlPlane: Access } = {
  operator: { own: joined(operatorAccess.own), watched: joined(operatorAccess.worked), secrets: joined(operatorAccess.secrets) },
  controlPlane: {
    own: joined(OWN_NAMESPACE_ACCESS),
    watched: joined(SERVED_NAMESPACE_ACCESS),
    secrets: joined(SECRET_ACCESS),
    ownWithApiKeys: joined([...OWN_NAMESPACE_ACCESS, ...API_KEY_COMMAND_ACCESS]),
  },
};

/** Returns the same permissions in as few rules as possible, always in the same order. */
function joined(rules: readonly PolicyRule[]): PolicyRule[] {
  const verbs = new Map<string, Set<string>>();
  for (const rule of rules) {
    for (const key of rule.apiGroups.flatMap((group) => rule.resources.map((resource) => `${group}/${resource}`))) {
      verbs.set(key, new Set([...(verbs.get(key) ?? []), ...rule.verbs]));
    }
  }
  const grouped = new Map<string, PolicyRule>();
  for (const [key, granted] of [...verbs].toSorted(([a], [b]) => compare(a, b))) {
    const [group = ''] = key.split('/');
    const resource = key.slice(group.length + 1);
    const sorted = [...granted].toSorted((a, b) => verbOrder(a) - verbOrder(b));
    const id = `${group} ${sorted.join(' ')}`;
    const rule = grouped.get(id) ?? { apiGroups: [group], resources: [], verbs: sorted };
    grouped.set(id, { ...rule, resources: [...rule.resources, resource] });
  }
  return [...grouped.values()];
}

function verbOrder(verb: string): number {
  return ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'].indexOf(verb);
}

/** Compares API groups. Our own comes first, because it is what a reader looks for. */
function compare(a: string, b: string): number {
  const isOwn = (key: string) => Number(key.startsWith(`${GROUP}/`));
  return isOwn(b) - isOwn(a) || (a < b ? -1 : 1);
}
