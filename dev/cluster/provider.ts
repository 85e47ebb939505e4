import type { Report } from '../steps.ts';

export type Cluster = {
  name: string;
  kind: 'native' | 'kind';
  kubeconfig: string;
  kubectl: string;
  /** Where NodePorts answer. */
  nodeAddress: string;
  controlPlanePort: number;
  /** Loads an OCI or Docker archive, unless the node has an image of that reference. */
  loadImage(image: LoadableImage): Promise<void>;
  /** The registry of images that are built in the cluster. */
  registry: RegistryHost;
  gitHost: GitHost;
  /** Builds and starts these extras, and returns the cluster with them. Before, they may not answer. */
  with(extras: readonly Extra[], report: Report): Promise<Cluster>;
};

/**
 * Parts that no agent needs to answer: a registry and a git host for builds, Gitea in the git host's place, and a
 * metrics server. A kind cluster always has a registry and Gitea, and never a metrics server.
 */
export type Extra = (typeof EXTRAS)[number];
export const EXTRAS = ['registry', 'git', 'gitea', 'metrics'] as const;

/** An archive, and the reference of the image in it, which another content would not have. */
export type LoadableImage = { reference: string; archive: string };

/** A server beside the cluster's pods, with one name in every kind of cluster. It speaks plain HTTP. */
export type ClusterHost = {
  /** Its name for pods and nodes, with its port. */
  name: string;
  /** Where it answers from this machine. */
  url: string;
  /** The address at which connections of pods arrive, as a network policy sees it. */
  peer: { cidr: string; port: number };
};

/** The registry. Everybody may pull. */
export type RegistryHost = ClusterHost & {
  /** Who may push. Unset: everybody. */
  account?: RegistryAccount;
};
export type RegistryAccount = { username: string; password: string };

export type GitHost = ClusterHost & {
  /** The form of its API and of its push events. */
  kind: 'github' | 'gitea';
  /** Returns an account that may do everything there. */
  account(): Promise<GitCredential>;
  /** Where node ports answer from there, for webhooks. */
  nodeAddress: string;
};
export type GitCredential = { user: string; token: string };

export type ClusterOptions = { name: string; report: Report };

/** The operations of each way of running a cluster. */
export type Provider = {
  kind: Cluster['kind'];
  /** Throws `MissingRequirement` with the parts that this machine lacks. It is asked before the first step. */
  require(): Promise<void>;
  up(options: ClusterOptions): Promise<Cluster>;
  /** Removes the cluster. Returns whether there was something to remove. */
  down(options: ClusterOptions): Promise<boolean>;
  find(options: ClusterOptions): Promise<Cluster | undefined>;
};
