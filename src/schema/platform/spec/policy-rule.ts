/** One RBAC rule, as Kubernetes writes it. */
export type PolicyRule = {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
};
