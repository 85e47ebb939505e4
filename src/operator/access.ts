import type { PolicyRule } from '../schema/policy-rule.ts';
import { deploymentAccess } from './deployment/access.ts';
import { eventAccess, leaseAccess } from './kernel/access.ts';
import { listenerAccess } from './listener/access.ts';
import { revisionAccess } from './revision/access.ts';
import { secretAccess } from './secrets/access.ts';

/** Returns one rule per resource with all its verbs, sorted as a chart prints them. */
export function merged(rules: PolicyRule[]): PolicyRule[] {
  const verbs = new Map<string, Set<string>>();
  for (const rule of rules) {
    for (const apiGroup of rule.apiGroups) {
      for (const resource of rule.resources) {
        const key = `${apiGroup}/${resource}`;
        verbs.set(key, new Set([...(verbs.get(key) ?? []), ...rule.verbs]));
      }
    }
  }
  return [...verbs]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, words]) => {
      const slash = key.indexOf('/');
      return {
        apiGroups: [key.slice(0, slash)],
        resources: [key.slice(slash + 1)],
        verbs: [...words].toSorted((a, b) => (a < b ? -1 : 1)),
      };
    });
}

/**
 * Permissions of the operator: in each namespace that it works on (a ClusterRole if these are all), on the Secrets of
 * each namespace of agents, and in its own namespace.
 */
export const operatorAccess = {
  worked: merged([...deploymentAccess, ...revisionAccess, ...eventAccess]),
  secrets: merged(secretAccess),
  own: merged([...leaseAccess, ...listenerAccess, ...eventAccess]),
};
