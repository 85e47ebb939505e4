import { GROUP } from '../schema/custom-resources.ts';
import type { PolicyRule } from '../schema/policy-rule.ts';

/** What the gateway may do in each namespace that it knows: see deployments, and ask for one that sleeps. */
export const gatewayAccess: PolicyRule[] = [{ apiGroups: [GROUP], resources: ['deployments'], verbs: ['list', 'watch', 'patch'] }];
