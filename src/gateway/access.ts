import { GROUP } from '../schema/custom-resources.ts';
import { PORTS_CONFIG_MAP } from '../schema/kept-ports.ts';
import type { PolicyRule } from '../schema/policy-rule.ts';

/** What the gateway may do in each namespace that it knows: see deployments, and ask for one that sleeps. */
export const gatewayAccess: PolicyRule[] = [{ apiGroups: [GROUP], resources: ['deployments'], verbs: ['list', 'watch', 'patch'] }];

/** What it may do in its own namespace: see which deployment has which port. */
export const gatewayOwnAccess: PolicyRule[] = [
  { apiGroups: [''], resources: ['configmaps'], resourceNames: [PORTS_CONFIG_MAP], verbs: ['list', 'watch'] },
];
