import type { Report } from '../steps.ts';

export type Cluster = {
  name: string;
  kind: 'native' | 'kind';
  kubeconfig: string;
  kubectl: string;
  /** Where NodePorts answer. */
  nodeAddress: string;
  /** Takes an OCI or Docker archive; quick when the node has that very image already. */
  loadImage(archive: string): Promise<void>;
};

export type ClusterOptions = { name: string; report: Report };

/** What each way of having a cluster must offer. */
export type Provider = {
  kind: Cluster['kind'];
  up(options: ClusterOptions): Promise<Cluster>;
  /** Whether there was something to remove. */
  down(options: ClusterOptions): Promise<boolean>;
  /** The cluster if it is there and healthy. */
  find(options: ClusterOptions): Promise<Cluster | undefined>;
};
