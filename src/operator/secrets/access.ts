import type { PolicyRule } from '../../schema/policy-rule.ts';

/**
 * Permissions on Secrets, in the namespaces of agents alone: credentials of databases and the Secrets of revisions are
 * made, read by name, listed by their label (when a deployment goes, and to find those nothing refers to), removed,
 * and, of a certificate, renewed. They stand apart from the other permissions because no installation grants them for
 * the whole cluster: Kubernetes can't grant them by label.
 */
export const secretAccess: PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'create', 'patch', 'delete'] },
];
