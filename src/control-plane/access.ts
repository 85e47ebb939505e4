import { GROUP } from '../schema/platform/objects/api-group.ts';
import type { PolicyRule } from '../schema/platform/spec/policy-rule.ts';

/** The control plane's permissions in each namespace that it serves. It neither reads nor writes workloads. */
export const SERVED_NAMESPACE_ACCESS: readonly PolicyRule[] = [
  {
    apiGroups: [GROUP],
    resources: ['deployments'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  {
    apiGroups: [GROUP],
    resources: ['revisions'],
    verbs: ['get', 'list', 'watch', 'create', 'patch'],
  },
  { apiGroups: [GROUP], resources: ['tracingprojects'], verbs: ['get', 'list', 'watch', 'delete'] },
  { apiGroups: [GROUP], resources: ['backups'], verbs: ['list'] },
  // A namespace's label says which tenant it has joined.
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
];

/** Its permissions on other objects where agents run. */
export const POD_ACCESS: readonly PolicyRule[] = [
  // A resource_spec may name only objects that exist and belong to nobody else.
  { apiGroups: [''], resources: ['serviceaccounts', 'persistentvolumeclaims'], verbs: ['get'] },
  // These rights serve the logs of builds and deployments.
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
  // Events of a deployment's objects and pods are shown.
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['list'] },
  // The log of a build that has ended is kept in a ConfigMap of its revision.
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
];

/** Its permissions on Secrets in the agents' namespaces. It uses them by name and can't list them. */
export const SECRET_ACCESS: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'delete'] },
];

/** Its further permissions in its own namespace: manage listeners and their lock, and read API keys by name. */
export const OWN_NAMESPACE_ACCESS: readonly PolicyRule[] = [
  {
    apiGroups: [GROUP],
    resources: ['listeners'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [GROUP], resources: ['tracingprojects'], verbs: ['get', 'list', 'watch', 'delete'] },
  {
    apiGroups: [GROUP],
    resources: ['gitintegrations'],
    verbs: ['list', 'watch', 'create', 'patch', 'delete'],
  },
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
  // One Lease lets one change of listeners run at a time. One for each key says when it was last used.
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
];

/** Its permissions where builds run: read their logs. It reads no Secret there, because one pushes all images. */
export const BUILD_NAMESPACE_ACCESS: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
];

/** Its permissions where the Secrets of git integrations are kept: keep them, use them by name, and remove them. */
export const GIT_NAMESPACE_ACCESS: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'delete'] },
];

/** The permissions that a person or job needs to run `api-key`, in the control plane's namespace. */
export const API_KEY_COMMAND_ACCESS: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'create', 'delete'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['list'] },
];
