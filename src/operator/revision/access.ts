import { GROUP } from '../../schema/custom-resources.ts';
import type { PolicyRule } from '../../schema/policy-rule.ts';

/** Permissions where builds run: it makes Jobs there, and reads the credential that they push with, to lend it. */
export const buildAccess: PolicyRule[] = [
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['list', 'create', 'delete'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
  // What one build shows to its git host is a Secret beside its Job.
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'create', 'delete'] },
  // Builds elsewhere are lent the certificate authorities of this namespace.
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
];

/** Permissions where the Secrets of git integrations are kept: it reads them by name. */
export const gitAccess: PolicyRule[] = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }];

/** Permissions where BuildKit builds: it reads no Secret there, and lends each build one of its own. */
export const buildkitAccess: PolicyRule[] = [
  { apiGroups: ['batch'], resources: ['jobs'], verbs: ['list', 'create', 'delete'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
  { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'create', 'delete'] },
];

/** Nodes say whether pods can have users of their own, without which BuildKit is not started. */
export const nodeAccess: PolicyRule[] = [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }];

/** Permissions that only builds in stages need of the namespaces that the operator works on. */
export const builtAccess: PolicyRule[] = [
  // A revision whose build lies elsewhere has a finalizer.
  { apiGroups: [GROUP], resources: ['revisions'], verbs: ['get', 'patch'] },
  // The log of a build is kept in a ConfigMap of its revision.
  { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
];

/** Permissions for reconciling revisions, in each namespace that the operator works on. */
export const revisionAccess: PolicyRule[] = [
  { apiGroups: [GROUP], resources: ['revisions'], verbs: ['list', 'watch'] },
  { apiGroups: [GROUP], resources: ['revisions/status'], verbs: ['patch'] },
  { apiGroups: ['apps'], resources: ['deployments'], verbs: ['list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
];
