import type { Layout } from './layout.ts';

/**
 * What the native node does for a part: files that it writes, objects that it applies, processes that it keeps running.
 */
export type NodePart = {
  /** Configuration: path -> content. */
  files?: (setup: NodeSetup) => Record<string, string>;
  /** Objects of the API that the part needs, applied before the later processes start. */
  manifest?: (layout: Layout) => readonly object[];
  processes?: (layout: Layout) => readonly NodeProcess[];
};

/** A cluster's layout, and what its machine has. */
export type NodeSetup = {
  layout: Layout;
  /** The path of runc. */
  runc: string;
  snapshotter: 'overlayfs' | 'native';
  /** Resolvers that the node reaches. */
  nameservers: readonly string[];
};

/** A process of the node. It is started again whenever it ends; its log is `log/<name>.log`. */
export type NodeProcess = {
  name: string;
  tool: string;
  args: readonly string[];
  /** Starts before the API server answers; the others start when the API and containerd are there. */
  isEarly?: boolean;
  /** Reaches the internet, so it needs the machine's proxy settings; the others must not have them. */
  isProxied?: boolean;
};

export const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

/** Gives a cluster role to a user, as whom a part's own certificate makes it known. */
export const roleBinding = ({ user, role }: { user: string; role: string }) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: user },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
});
