import { GROUP } from '../../schema/custom-resources.ts';
import type { PolicyRule } from '../../schema/policy-rule.ts';

/** Permissions for reconciling deployments, in each namespace that the operator works on. */
export const deploymentAccess: PolicyRule[] = [
  { apiGroups: [GROUP], resources: ['deployments'], verbs: ['get', 'list', 'watch', 'patch'] },
  { apiGroups: [GROUP], resources: ['deployments/status', 'revisions/status'], verbs: ['patch'] },
  // Whoever sets blockOwnerDeletion must be allowed to change the owner's finalizers.
  { apiGroups: [GROUP], resources: ['deployments/finalizers', 'revisions/finalizers'], verbs: ['update'] },
  { apiGroups: [GROUP], resources: ['revisions'], verbs: ['list', 'watch', 'create', 'delete'] },
  { apiGroups: [GROUP], resources: ['tracingprojects'], verbs: ['list', 'watch', 'create', 'delete'] },
  { apiGroups: ['apps'], resources: ['statefulsets'], verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
  // Jobs exist only while a password is being changed.
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['list', 'create', 'delete'] },
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
  // A namespace's label says which tenant it has joined.
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'patch', 'delete'] },
];
