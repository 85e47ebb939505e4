import { GROUP } from '../schema/custom-resources.ts';
import type { PolicyRule } from '../schema/policy-rule.ts';

/** What the control plane may do in each namespace that it serves. It neither reads nor writes workloads. */
export const SERVED_NAMESPACE_ACCESS: readonly PolicyRule[] = [
  { apiGroups: [GROUP], resources: ['deployments'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: [GROUP], resources: ['revisions'], verbs: ['get', 'list', 'watch', 'create', 'patch'] },
  { apiGroups: [GROUP], resources: ['tracingprojects'], verbs: ['get', 'list', 'watch', 'delete'] },
  // What a resource_spec names must be there and be nobody else's.
  { apiGroups: [''], resources: ['serviceaccounts', 'persistentvolumeclaims'], verbs: ['get'] },
  // Logs of builds and deployments.
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
];

/** Secrets of the namespaces of agents: values in answers, one Secret per change. By name only: it can't list them. */
export const SECRET_ACCESS: readonly PolicyRule[] = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'delete'] }];

/** What it may do in its own namespace beside that: listeners with their lock, and keys by name. */
export const OWN_NAMESPACE_ACCESS: readonly PolicyRule[] = [
  { apiGroups: [GROUP], resources: ['listeners'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: [GROUP], resources: ['tracingprojects'], verbs: ['get', 'list', 'watch', 'delete'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
  // One change of listeners at a time.
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
];

/** What a person or job needs to run `api-key`, in the control plane's namespace. */
export const API_KEY_COMMAND_ACCESS: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['create', 'list', 'delete'] },
];
