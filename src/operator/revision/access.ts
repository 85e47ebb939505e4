import { GROUP } from '../../schema/custom-resources.ts';
import type { PolicyRule } from '../../schema/policy-rule.ts';

/** Permissions for reconciling revisions, in each namespace that the operator works on. */
export const revisionAccess: PolicyRule[] = [
  { apiGroups: [GROUP], resources: ['revisions'], verbs: ['list', 'watch'] },
  { apiGroups: [GROUP], resources: ['revisions/status'], verbs: ['patch'] },
  { apiGroups: ['apps'], resources: ['deployments'], verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
];
