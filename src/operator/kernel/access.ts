import type { PolicyRule } from '../../schema/policy-rule.ts';

/** Permissions on the Lease, in the operator's own namespace. */
export const leaseAccess: PolicyRule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
];

/** Permissions on events, wherever the operator works. */
export const eventAccess: PolicyRule[] = [{ apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] }];
