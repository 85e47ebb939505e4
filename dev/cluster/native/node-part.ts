import type { Extra } from '../provider.ts';
import type { Layout } from './layout.ts';

/**
 * The native node's work for a part: the files it writes, the objects it applies and the processes it keeps running.
 */
export type NodePart = {
  /** Set if no agent needs it to answer. Such a part starts once somebody wants this extra. */
  extra?: Extra;
  /** Configuration: path -> content. */
  files?: (setup: NodeSetup) => Record<string, string>;
  /** Objects of the API that the part needs, applied before the later processes start. */
  manifest?: (layout: Layout) => readonly object[];
  processes?: (layout: Layout) => readonly NodeProcess[];
};

/** A part that starts once its extra is wanted. */
export type ExtraPart = NodePart & { extra: Extra };

/** A cluster's layout, and the tools of its machine. */
export type NodeSetup = {
  layout: Layout;
  runc: string;
  snapshotter: 'overlayfs' | 'native';
  nameservers: readonly string[];
};

/** A process of the node. It is started again whenever it ends; its log is `log/<name>.log`. */
export type NodeProcess = {
  name: string;
  tool: string;
  args: readonly string[];
  /** True if it starts before the API server answers. The others start when the API server and containerd answer. */
  isEarly?: boolean;
  /** True if it reaches the internet and so needs the machine's proxy settings. The others must not have them. */
  isProxied?: boolean;
};

export const formatJson = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

/** Returns a list of the objects of these parts, as the API takes it. */
export const buildManifestList = (parts: readonly NodePart[], layout: Layout): object => ({
  apiVersion: 'v1',
  kind: 'List',
  items: parts.flatMap((part) => part.manifest?.(layout) ?? []),
});

/** Binds a cluster role to a user, whose name stands in a part's own certificate. */
export const buildRoleBinding = ({ user, role }: { user: string; role: string }) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: user },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
});
