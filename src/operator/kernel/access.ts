import { PORTS_CONFIG_MAP } from '../../schema/kept-ports.ts';
import type { PolicyRule } from '../../schema/policy-rule.ts';

/** Permissions on the Lease, in the operator's own namespace. */
export const leaseAccess: PolicyRule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
];

/** Permission to see where the API server is, in the namespace `default`. */
export const apiServerAccess: PolicyRule[] = [
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], resourceNames: ['kubernetes'], verbs: ['list', 'watch'] },
];

/** Permissions on events, wherever the operator works. */
export const eventAccess: PolicyRule[] = [{ apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] }];

/** Permission to see where the gateway is, in the operator's own namespace. */
export const gatewayEndpointAccess: PolicyRule[] = [
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
];

/** Permissions on the ConfigMap with the ports of deployments, in the operator's own namespace. */
export const portsAccess: PolicyRule[] = [
  { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: [PORTS_CONFIG_MAP], verbs: ['get', 'patch'] },
];
