import { join } from 'node:path';
import { getStatePaths, nodePodRange, podRange } from '../layout.ts';
import { formatJson, type NodePart, type NodeSetup } from '../node-part.ts';
import { getRegistriesFolder } from './registry.ts';

/** Where Debian installs the programs of pod networks. */
export const cniFolder = '/usr/lib/cni';

/** The image that holds each pod's namespaces. */
export const pauseImage = 'gx-platform.local/pause:1';

/** Runs containerd, and configures the network that it gives to pods. */
export const containerd: NodePart = {
  files: (setup) => {
    const { config, cniConfig } = getStatePaths(setup.layout);
    return {
      [config('containerd.toml')]: formatContainerdConfig(setup),
      [config('masquerade.nft')]: masquerade,
      [join(cniConfig, '10-pods.conflist')]: formatJson(podNetwork),
    };
  },
  processes: (layout) => [
    {
      name: 'containerd',
      tool: 'containerd',
      args: ['--config', getStatePaths(layout).config('containerd.toml')],
      isEarly: true,
      isProxied: true,
    },
  ],
};

function formatContainerdConfig({ layout, runc, snapshotter }: NodeSetup): string {
  const { containerdRoot, containerdSocket, cniConfig } = getStatePaths(layout);
  // Version 3 is read by all of 2.x.
  return `version = 3
imports = []
root = "${containerdRoot}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri"]

[grpc]
address = "${containerdSocket}"

[plugins."io.containerd.internal.v1.opt"]
path = "${join(containerdRoot, 'opt')}"

[plugins."io.containerd.cri.v1.images"]
snapshotter = "${snapshotter}"

[plugins."io.containerd.cri.v1.images".registry]
config_path = "${getRegistriesFolder(layout)}"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "${pauseImage}"

[plugins."io.containerd.cri.v1.runtime"]
# Without CAP_SYS_RESOURCE a lower score is refused, and with it every sandbox.
restrict_oom_score_adj = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["${cniFolder}"]
conf_dir = "${cniConfig}"

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "${runc}"
SystemdCgroup = false
`;
}

// Pods are routed and not bridged, because a bridge would need br_netfilter for services between pods of one node.
const podNetwork = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'ptp',
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: nodePodRange }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
  ],
};

const masquerade = `table ip gx_pods {
  chain out {
    type nat hook postrouting priority srcnat
    ip saddr ${podRange} ip daddr != ${podRange} oifname "eth0" masquerade
  }
}
`;
