import type { KubeObject } from '../../../../src/kube/kube.ts';

/* The parts of a cluster that the rules of pods' traffic depend on, as the API server shows them. */

export type Labels = Record<string, string>;

export type LabelSelector = {
  matchLabels?: Labels;
  matchExpressions?: {
    key: string;
    operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    values?: string[];
  }[];
};

export type Peer = {
  podSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  ipBlock?: { cidr: string; except?: string[] };
};

/** `port` is a number or the name of a container's port. */
export type PolicyPort = { protocol?: string; port?: number | string; endPort?: number };

export type PolicySpec = {
  podSelector?: LabelSelector;
  policyTypes?: ('Ingress' | 'Egress')[];
  ingress?: { from?: Peer[]; ports?: PolicyPort[] }[];
  egress?: { to?: Peer[]; ports?: PolicyPort[] }[];
};

export type Policy = { name: string; namespace: string; spec: PolicySpec };
export type NamedPort = { name: string; protocol: string; port: number };
export type Pod = {
  name: string;
  namespace: string;
  labels: Labels;
  addresses: string[];
  ports: NamedPort[];
};
export type Namespace = { name: string; labels: Labels };

/** Everything that decides who reaches whom. */
export type World = { namespaces: Namespace[]; pods: Pod[]; policies: Policy[] };

type PodSpec = {
  hostNetwork?: boolean;
  containers?: Container[];
  /** One that always restarts runs beside the others and may have ports. */
  initContainers?: Container[];
};
type Container = { ports?: ContainerPort[] };
type ContainerPort = { name?: string; protocol?: string; containerPort: number };
type PodStatus = { phase?: string; podIPs?: { ip: string }[] };

/** Returns a pod that has addresses of its own. That of a pod which ended is another's. */
export function toPods({ metadata, spec, status }: KubeObject): Pod[] {
  const { hostNetwork, containers = [], initContainers = [] } = spec as PodSpec;
  const { phase = '', podIPs = [] } = status as PodStatus;
  if (hostNetwork === true || ['Succeeded', 'Failed'].includes(phase) || podIPs.length === 0)
    return [];
  const { name, namespace = '', labels = {} } = metadata;
  const ports = [...containers, ...initContainers]
    .flatMap((container) => container.ports ?? [])
    .flatMap(toNamedPorts);
  return [{ name, namespace, labels, addresses: podIPs.map(({ ip }) => ip), ports }];
}

const toNamedPorts = ({ name, protocol = 'TCP', containerPort }: ContainerPort): NamedPort[] =>
  name === undefined ? [] : [{ name, protocol, port: containerPort }];

export const toNamespace = ({ metadata }: KubeObject): Namespace => ({
  name: metadata.name,
  labels: metadata.labels ?? {},
});

export const toPolicy = ({ metadata, spec }: KubeObject): Policy => ({
  name: metadata.name,
  namespace: metadata.namespace ?? '',
  spec: spec as PolicySpec,
});
