import type { Report } from '../steps.ts';

export type Cluster = {
  name: string;
  kind: 'native' | 'kind';
  kubeconfig: string;
  kubectl: string;
  /** Where NodePorts answer. */
  nodeAddress: string;
  /** The node port of the control plane. */
  controlPlanePort: number;
  /** Loads an OCI or Docker archive, unless the node has an image of that reference. */
  loadImage(image: LoadableImage): Promise<void>;
  /** The registry of images that are built in the cluster. */
  registry: RegistryHost;
  gitHost: GitHost;
  /** Builds and starts the parts that no agent needs to answer, such as the git host. Before, that may not answer. */
  complete(report: Report): Promise<void>;
};

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

/** Gitea. */
export type GitHost = ClusterHost & {
  /** Runs its command line, such as `admin user create`, and returns its output. */
  command(...args: string[]): Promise<string>;
  /** Where node ports answer from there, for webhooks. */
  nodeAddress: string;
};

export type ClusterOptions = { name: string; report: Report };

/** The operations of each way of running a cluster. */
export type Provider = {
  kind: Cluster['kind'];
  /** Throws `MissingRequirement` with the parts that this machine lacks. It is asked before the first step. */
  require(): Promise<void>;
  up(options: ClusterOptions): Promise<Cluster>;
  /** Removes the cluster. Returns whether there was something to remove. */
  down(options: ClusterOptions): Promise<boolean>;
  /** Returns the cluster if it exists and is healthy. */
  find(options: ClusterOptions): Promise<Cluster | undefined>;
};
