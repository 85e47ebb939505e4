import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** Every name, path and address of one native cluster, computed once from its name. */
export type Layout = {
  name: string;
  nodeName: string;
  state: string;
  hostAddress: string;
  nodeAddress: string;
  /** The host's end of the virtual link to the node. */
  hostInterface: string;
  hostTable: string;
  cgroup: string;
};

export const statesFolder = '/var/lib/gx-platform';

// These are inside the node's own network namespace, so every cluster can have the same ones.
export const podRange = '10.214.0.0/16';
export const nodePodRange = '10.214.0.0/24';
export const serviceRange = '10.215.0.0/16';
export const firstServiceAddress = '10.215.0.1';
export const dnsAddress = '10.215.0.10';
export const nodePortRange = '30000-32767';

/** Slots 0 and 1 belong to `make run` and the system test, so that their addresses are always the same. */
export const slotCount = 64;
export const choosePreferredSlot = (name: string): number =>
  ({ gx: 0, 'gx-test': 1 })[name] ??
  2 + ((createHash('sha256').update(name).digest()[0] ?? 0) % (slotCount - 2));

export const getWireNetwork = (slot: number): string => `10.213.${slot}.0/30`;

export const getStateFolder = (name: string): string => join(statesFolder, name);

export function buildLayout(name: string, slot: number): Layout {
  return {
    name,
    nodeName: `${name}-node`,
    state: getStateFolder(name),
    hostAddress: `10.213.${slot}.1`,
    nodeAddress: `10.213.${slot}.2`,
    hostInterface: `gx-wire${slot}`,
    hostTable: `gx_${name.replaceAll('-', '_')}`,
    cgroup: `/gx-run-${name}`,
  };
}

/** The files of a cluster's state folder. */
export const getStatePaths = (layout: Pick<Layout, 'state'>) => {
  const joinState = (...names: string[]) => join(layout.state, ...names);
  return {
    record: joinState('node.json'),
    adminKubeconfig: joinState('admin.kubeconfig'),
    pki: (name: string) => joinState('pki', name),
    config: (name: string) => joinState('config', name),
    log: (name: string) => joinState('log', `${name}.log`),
    logFolder: joinState('log'),
    cniConfig: joinState('config', 'cni'),
    etcdData: joinState('etcd'),
    containerdRoot: joinState('containerd'),
    containerdSocket: joinState('containerd.sock'),
    kubelet: joinState('kubelet'),
    volumePlugins: joinState('volume-plugins'),
    volumes: joinState('volumes'),
    registry: joinState('registry'),
    gitHost: joinState('git-host'),
    gitea: joinState('gitea'),
    wantedFolder: joinState('wanted'),
    wanted: (extra: string) => joinState('wanted', extra),
    images: joinState('images'),
    resolvConf: joinState('config', 'resolv.conf'),
  };
};
