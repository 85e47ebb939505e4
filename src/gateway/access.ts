import { GROUP } from '../schema/custom-resources.ts';
import type { PolicyRule } from '../schema/policy-rule.ts';

/** What the gateway may do in each namespace that it knows: see deployments. */
export const gatewayAccess: PolicyRule[] = [{ apiGroups: [GROUP], resources: ['deployments'], verbs: ['list', 'watch'] }];
