import type { Report } from '../steps.ts';

export type Cluster = {
  name: string;
  kind: 'native' | 'kind';
  kubeconfig: string;
  kubectl: string;
  /** Where NodePorts answer. */
  nodeAddress: string;
  /** Loads an OCI or Docker archive. This is quick if the node already has that image. */
  loadImage(archive: string): Promise<void>;
};

export type ClusterOptions = { name: string; report: Report };

/** What each way of running a cluster must offer. */
export type Provider = {
  kind: Cluster['kind'];
  up(options: ClusterOptions): Promise<Cluster>;
  /** Removes the cluster. Returns whether there was something to remove. */
  down(options: ClusterOptions): Promise<boolean>;
  /** Returns the cluster if it exists and is healthy. */
  find(options: ClusterOptions): Promise<Cluster | undefined>;
};
