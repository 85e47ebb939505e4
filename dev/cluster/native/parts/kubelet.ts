import { join } from 'node:path';
import { flags } from '../../../commands.ts';
import { dnsAddress, fileOf, podRange, type Layout } from '../layout.ts';
import { json, type NodePart, type NodeProcess } from '../node-part.ts';

/** Runs the kubelet, and the proxy that makes services reachable. */
export const kubelet: NodePart = {
  files: ({ layout }) => ({
    [fileOf(layout).config('kubelet.json')]: json(kubeletConfiguration(layout)),
    [fileOf(layout).config('proxy.json')]: json(proxyConfiguration(layout)),
  }),
  processes: (layout) => [kubeletProcess(layout), proxyProcess(layout)],
};

function kubeletProcess(layout: Layout): NodeProcess {
  const { pki, config } = fileOf(layout);
  return {
    name: 'kubelet',
    tool: 'kubelet',
    args: flags({
      kubeconfig: pki('kubelet.kubeconfig'),
      config: config('kubelet.json'),
      'hostname-override': layout.nodeName,
      'node-ip': layout.nodeAddress,
    }),
  };
}

const proxyProcess = (layout: Layout): NodeProcess => ({
  name: 'kube-proxy',
  tool: 'kube-proxy',
  args: flags({ config: fileOf(layout).config('proxy.json') }),
});

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
    // A developer's disk is often nearly full; images were loaded by hand and cannot be pulled again.
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
    // The default of one second is for clusters with thousands of services.
    nftables: { minSyncPeriod: '50ms', syncPeriod: '30s' },
    // The conntrack limits belong to the machine, not to this network namespace.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  };
}
