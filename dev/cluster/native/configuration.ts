import { join } from 'node:path';
import { dnsAddress, fileOf, nodePodRange, podRange, type Layout } from './layout.ts';
import { cniFolder } from './packages.ts';

export type Given = {
  layout: Layout;
  runc: string;
  pauseImage: string;
  snapshotter: 'overlayfs' | 'native';
  nameservers: readonly string[];
};

/** Configuration files of the node: path → content. */
export function configurationFiles(given: Given): Record<string, string> {
  const { config, cniFolder: cni } = fileOf(given.layout);
  return {
    [config('kubelet.json')]: json(kubeletConfiguration(given.layout)),
    [config('proxy.json')]: json(proxyConfiguration(given.layout)),
    [config('containerd.toml')]: containerdConfiguration(given),
    [config('Corefile')]: corefile(given),
    [config('resolv.conf')]: given.nameservers.map((address) => `nameserver ${address}\n`).join(''),
    [config('masquerade.nft')]: masquerade,
    [join(cni, '10-pods.conflist')]: json(podNetwork),
  };
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

function kubeletConfiguration(layout: Layout) {
  const { pki, containerdSocket, logFolder, resolvConf, volumePlugins } = fileOf(layout);
  return {
    kind: 'KubeletConfiguration',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: pki('ca.crt') },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: pki('kubelet-server.crt'),
    tlsPrivateKeyFile: pki('kubelet-server.key'),
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: layout.cgroup,
    failCgroupV1: false,
    failSwapOn: false,
    clusterDNS: [dnsAddress],
    clusterDomain: 'cluster.local',
    resolvConf,
    podLogsDir: join(logFolder, 'pods'),
    volumePluginDir: volumePlugins,
    makeIPTablesUtilChains: false,
    // A nearly full disk is a developer's daily life; images were loaded by hand and cannot be pulled again.
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    imageGCHighThresholdPercent: 100,
  };
}

function proxyConfiguration(layout: Layout) {
  return {
    kind: 'KubeProxyConfiguration',
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    clientConnection: { kubeconfig: fileOf(layout).pki('proxy.kubeconfig') },
    hostnameOverride: layout.nodeName,
    mode: 'nftables',
    clusterCIDR: podRange,
    // The usual second spares clusters with thousands of services.
    nftables: { minSyncPeriod: '50ms', syncPeriod: '30s' },
    // The conntrack limits belong to the machine, not to this network namespace.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  };
}

function containerdConfiguration({ layout, runc, pauseImage, snapshotter }: Given): string {
  const { containerdRoot, containerdSocket, cniFolder: cni } = fileOf(layout);
  return `version = 4
imports = []
root = "${containerdRoot}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri"]

[plugins."io.containerd.server.v1.grpc"]
address = "${containerdSocket}"

[plugins."io.containerd.internal.v1.opt"]
path = "${join(containerdRoot, 'opt')}"

[plugins."io.containerd.cri.v1.images"]
snapshotter = "${snapshotter}"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "${pauseImage}"

[plugins."io.containerd.cri.v1.runtime"]
# Without CAP_SYS_RESOURCE a lower score is refused, and with it every sandbox.
restrict_oom_score_adj = true

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["${cniFolder}"]
conf_dir = "${cni}"

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "${runc}"
SystemdCgroup = false
`;
}

function corefile({ layout, nameservers }: Given): string {
  const { pki, resolvConf } = fileOf(layout);
  const upstream = nameservers.length > 0 ? `    forward . ${resolvConf}\n` : '';
  return `.:53 {
    bind ${layout.nodeAddress}
    errors
    ready ${layout.nodeAddress}:8181
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig ${pki('coredns.kubeconfig')}
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 5
    }
${upstream}    cache 5
    loadbalance
}
`;
}

// Routed, not bridged: a bridge would need br_netfilter for services between pods of one node.
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
