import { join } from 'node:path';
import { formatFlags } from '../../../commands.ts';
import { dnsAddress, getStatePaths, podRange, type Layout } from '../layout.ts';
import { formatJson, type NodePart, type NodeProcess } from '../node-part.ts';

/** Runs the kubelet, and the proxy that makes services reachable. */
export const kubelet: NodePart = {
  files: ({ layout }) => ({
    [getStatePaths(layout).config('kubelet.json')]: formatJson(buildKubeletConfig(layout)),
    [getStatePaths(layout).config('proxy.json')]: formatJson(buildProxyConfig(layout)),
  }),
  processes: (layout) => [buildKubeletProcess(layout), buildProxyProcess(layout)],
};

function buildKubeletProcess(layout: Layout): NodeProcess {
  const { pki, config } = getStatePaths(layout);
  return {
    name: 'kubelet',
    tool: 'kubelet',
    args: formatFlags({
      kubeconfig: pki('kubelet.kubeconfig'),
      config: config('kubelet.json'),
      'hostname-override': layout.nodeName,
      'node-ip': layout.nodeAddress,
    }),
  };
}

const buildProxyProcess = (layout: Layout): NodeProcess => ({
  name: 'kube-proxy',
  tool: 'kube-proxy',
  args: formatFlags({ config: getStatePaths(layout).config('proxy.json') }),
});

function buildKubeletConfig(layout: Layout) {
  const { pki, containerdSocket, logFolder, resolvConf, volumePlugins } = getStatePaths(layout);
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
    // A developer's disk is often nearly full, and of a large one 1 % is much; images were loaded by hand and cannot be
    // pulled again.
    evictionHard: {
      'memory.available': '50Mi',
      'nodefs.available': '500Mi',
      'imagefs.available': '500Mi',
    },
    imageGCHighThresholdPercent: 100,
  };
}

function buildProxyConfig(layout: Layout) {
  return {
    kind: 'KubeProxyConfiguration',
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    clientConnection: { kubeconfig: getStatePaths(layout).pki('proxy.kubeconfig') },
    hostnameOverride: layout.nodeName,
    mode: 'nftables',
    clusterCIDR: podRange,
    // The default of one second is for clusters with thousands of services.
    nftables: { minSyncPeriod: '50ms', syncPeriod: '30s' },
    // The conntrack limits belong to the machine, not to this network namespace.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  };
}
