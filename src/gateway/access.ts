import { GROUP } from '../schema/platform/objects/api-group.ts';
import { PORTS_CONFIG_MAP } from '../schema/platform/objects/kept-ports.ts';
import type { PolicyRule } from '../schema/platform/spec/policy-rule.ts';

/** The gateway's permissions in each namespace that it knows: to see deployments, and to ask for one that sleeps. */
export const gatewayAccess: PolicyRule[] = [
  { apiGroups: [GROUP], resources: ['deployments'], verbs: ['list', 'watch', 'patch'] },
];

/** Its permissions in its own namespace: to see which deployment has which port. */
export const gatewayOwnAccess: PolicyRule[] = [
  {
    apiGroups: [''],
    resources: ['configmaps'],
    resourceNames: [PORTS_CONFIG_MAP],
    verbs: ['list', 'watch'],
  },
];
