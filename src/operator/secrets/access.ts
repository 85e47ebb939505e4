import type { PolicyRule } from '../kernel/access-rule.ts';

/**
 * Secrets, in the namespaces of agents alone: credentials of databases and the secrets of revisions are made, read by name, listed by their
 * label (when a deployment goes, and to find those nothing refers to), removed, and, of a certificate, renewed. Apart from the other rights, because no installation
 * gives them for the whole cluster: Kubernetes can't grant them by label.
 */
export const secretAccess: PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'create', 'patch', 'delete'] },
];
