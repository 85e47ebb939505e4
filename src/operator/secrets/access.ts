import type { PolicyRule } from '../../schema/policy-rule.ts';

/**
 * Permissions on Secrets, only in the namespaces of agents. The operator creates credentials of databases and the
 * Secrets of revisions, reads them by name, lists them by label (when a deployment is deleted, and to find those
 * nothing refers to), deletes them, and patches those of certificates. They are apart from the other permissions
 * because no installation grants them for the whole cluster: Kubernetes can't grant them by label.
 */
export const secretAccess: PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'create', 'patch', 'delete'] },
];
