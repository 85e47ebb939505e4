import type { PolicyRule } from '../../schema/policy-rule.ts';

/** Permissions that the kernel needs in the operator's own namespace: its Lease. */
export const leaseAccess: PolicyRule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
];

/** Permissions that the kernel needs wherever it works: events about what changed. */
export const eventAccess: PolicyRule[] = [{ apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] }];
