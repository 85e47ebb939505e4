import { GROUP } from '../schema/custom-resources.ts';
import type { PolicyRule } from '../schema/policy-rule.ts';
import { deploymentAccess } from './deployment/access.ts';
import { apiServerAccess, eventAccess, gatewayEndpointAccess, leaseAccess, portsAccess } from './kernel/access.ts';
import { listenerAccess } from './listener/access.ts';
import { buildAccess, buildkitAccess, builtAccess, gitAccess, nodeAccess, revisionAccess } from './revision/access.ts';
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

const worked = merged([...deploymentAccess, ...revisionAccess, ...builtAccess, ...eventAccess]);

/** Verbs that let somebody start pods or open a way to them, and with pods read every Secret of the namespace. */
const MAKING = ['create', 'patch', 'update'];
const READING_PODS = ['pods/log'];

/** Returns what of a rule may be granted where nobody agreed that agents run. */
function harmless(rule: PolicyRule): PolicyRule[] {
  const [group = '', resource = ''] = [rule.apiGroups[0], rule.resources[0]];
  if (group === GROUP || group === 'events.k8s.io') return [rule];
  const verbs = rule.verbs.filter((verb) => !MAKING.includes(verb));
  return READING_PODS.includes(resource) || verbs.length === 0 ? [] : [{ ...rule, verbs }];
}

/**
 * Permissions of the operator: in each namespace that it watches (a ClusterRole if these are all), in each namespace of
 * agents, where it makes workloads and uses Secrets, in its own namespace (`own` and `ports`), in those of builds and
 * of git credentials, on the one object that says where the API server is, and on nodes.
 */
export const operatorAccess = {
  watched: worked.flatMap(harmless),
  worked,
  secrets: merged(secretAccess),
  own: merged([...leaseAccess, ...gatewayEndpointAccess, ...listenerAccess, ...eventAccess]),
  ports: portsAccess,
  apiServer: apiServerAccess,
  builds: merged(buildAccess),
  buildkit: merged(buildkitAccess),
  git: merged(gitAccess),
  nodes: merged(nodeAccess),
};
