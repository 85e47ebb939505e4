import { createHash } from 'node:crypto';

/*
 * How this machine reaches a kind cluster. An engine on Linux gives its containers addresses that the machine routes,
 * so every node port answers at the node. Docker Desktop and rootless engines run in a network of their own: there a
 * range of node ports is published on the machine, and the API server is kept to that range.
 */

/** Facts about the engine: the platform of this machine, and the answers of `docker info`. */
export type EngineFacts = { platform: string; operatingSystem: string; securityOptions: string };

/** Returns whether containers are reached by ports of this machine, because their addresses lead nowhere on it. */
export const needsPorts = ({ platform, operatingSystem, securityOptions }: EngineFacts): boolean =>
  platform !== 'linux' ||
  operatingSystem.includes('Docker Desktop') ||
  securityOptions.includes('name=rootless');

/** The ports of a cluster: those of the two servers, and its node ports, of which the control plane has one. */
export type KindPorts = {
  git: number;
  registry: number;
  controlPlane: number;
  nodePorts: { first: number; last: number };
};

const SLOTS = 20;

/** Returns ports that clusters of other names do not have: `gx` and `gx-test` run side by side. */
export function chooseKindPorts(cluster: string): KindPorts {
  const own = 2 + ((createHash('sha256').update(cluster).digest()[0] ?? 0) % (SLOTS - 2));
  const first = 30_000 + 100 * ({ gx: 0, 'gx-test': 1 }[cluster] ?? own);
  return {
    git: first + 30,
    registry: first + 50,
    controlPlane: first + 80,
    nodePorts: { first: first + 60, last: first + 99 },
  };
}

type Wanted = { cluster: string; image: string; isMapped: boolean };

/** Returns kind's configuration of a cluster with one node. */
export function buildKindConfiguration({ cluster, image, isMapped }: Wanted): object {
  const { first, last } = chooseKindPorts(cluster).nodePorts;
  const ports = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return {
    kind: 'Cluster',
    apiVersion: 'kind.x-k8s.io/v1alpha4',
    nodes: [
      {
        role: 'control-plane',
        image,
        ...(isMapped && {
          extraPortMappings: ports.map((port) => ({
            containerPort: port,
            hostPort: port,
            listenAddress: '127.0.0.1',
          })),
        }),
      },
    ],
    ...(isMapped && { kubeadmConfigPatches: buildPortRangePatches(`${first}-${last}`) }),
  };
}

// kubeadm's third and fourth form differ in how they write arguments. kind applies the patch whose form it uses.
const buildPortRangePatches = (range: string): string[] => {
  const argument = { 'service-node-port-range': range };
  const formatPatch = (version: string, extraArgs: object): string =>
    JSON.stringify({
      apiVersion: `kubeadm.k8s.io/${version}`,
      kind: 'ClusterConfiguration',
      apiServer: { extraArgs },
    });
  const named = Object.entries(argument).map(([name, value]) => ({ name, value }));
  return [
    formatPatch('v1beta3', argument),
    formatPatch('v1beta4', [{ name: 'runtime-config', value: '' }, ...named]),
  ];
};
