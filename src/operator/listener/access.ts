import { GROUP } from '../../schema/custom-resources.ts';
import type { PolicyRule } from '../../schema/policy-rule.ts';

/** Permissions for reconciling Listeners, in the operator's own namespace. */
export const listenerAccess: PolicyRule[] = [
  { apiGroups: [GROUP], resources: ['listeners', 'gitintegrations'], verbs: ['list', 'watch'] },
  { apiGroups: [GROUP], resources: ['listeners/status'], verbs: ['patch'] },
];
