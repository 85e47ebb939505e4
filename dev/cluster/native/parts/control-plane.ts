import { formatFlags } from '../../../commands.ts';
import { getStatePaths, nodePortRange, serviceRange, type Layout } from '../layout.ts';
import type { NodePart, NodeProcess } from '../node-part.ts';

/** Runs etcd, the API server, the controllers and the scheduler. */
export const controlPlane: NodePart = {
  processes: (layout) => [
    buildEtcd(layout),
    buildApiServer(layout),
    buildControllerManager(layout),
    buildScheduler(layout),
  ],
};

function buildEtcd(layout: Layout): NodeProcess {
  return {
    name: 'etcd',
    tool: 'etcd',
    isEarly: true,
    args: formatFlags({
      'data-dir': getStatePaths(layout).etcdData,
      'listen-client-urls': 'http://127.0.0.1:2379',
      'advertise-client-urls': 'http://127.0.0.1:2379',
      'listen-peer-urls': 'http://127.0.0.1:2380',
      // A development cluster need not survive a power cut.
      'unsafe-no-fsync': true,
      'log-level': 'warn',
    }),
  };
}

function buildApiServer(layout: Layout): NodeProcess {
  const { pki } = getStatePaths(layout);
  return {
    name: 'kube-apiserver',
    tool: 'kube-apiserver',
    isEarly: true,
    args: formatFlags({
      'etcd-servers': 'http://127.0.0.1:2379',
      'bind-address': '0.0.0.0',
      'secure-port': 6443,
      'advertise-address': layout.nodeAddress,
      'authorization-mode': 'Node,RBAC',
      'enable-admission-plugins': 'NodeRestriction',
      'allow-privileged': true,
      'client-ca-file': pki('ca.crt'),
      'tls-cert-file': pki('apiserver.crt'),
      'tls-private-key-file': pki('apiserver.key'),
      'kubelet-client-certificate': pki('apiserver-kubelet-client.crt'),
      'kubelet-client-key': pki('apiserver-kubelet-client.key'),
      'kubelet-certificate-authority': pki('ca.crt'),
      // Aggregated API servers trust this client for the name of the user. No other certificate may do that.
      'requestheader-client-ca-file': pki('ca.crt'),
      'requestheader-allowed-names': 'front-proxy-client',
      'requestheader-username-headers': 'X-Remote-User',
      'requestheader-group-headers': 'X-Remote-Group',
      'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
      'proxy-client-cert-file': pki('front-proxy-client.crt'),
      'proxy-client-key-file': pki('front-proxy-client.key'),
      // No DNS has the node names, so `kubectl logs` and `exec` use addresses.
      'kubelet-preferred-address-types': 'InternalIP',
      'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
      'service-account-key-file': pki('service-account.key'),
      'service-account-signing-key-file': pki('service-account.key'),
      'service-cluster-ip-range': serviceRange,
      'service-node-port-range': nodePortRange,
    }),
  };
}

function buildControllerManager(layout: Layout): NodeProcess {
  const { pki, volumePlugins } = getStatePaths(layout);
  return {
    name: 'kube-controller-manager',
    tool: 'kube-controller-manager',
    args: formatFlags({
      kubeconfig: pki('controller-manager.kubeconfig'),
      'authentication-kubeconfig': pki('controller-manager.kubeconfig'),
      'authorization-kubeconfig': pki('controller-manager.kubeconfig'),
      'bind-address': '127.0.0.1',
      'leader-elect': false,
      // The default of 20 a second is for shared API servers and would delay the controllers' start by seconds.
      'kube-api-qps': 500,
      'kube-api-burst': 1000,
      'use-service-account-credentials': true,
      'service-account-private-key-file': pki('service-account.key'),
      'root-ca-file': pki('ca.crt'),
      'cluster-signing-cert-file': pki('ca.crt'),
      'cluster-signing-key-file': pki('ca.key'),
      'flex-volume-plugin-dir': volumePlugins,
    }),
  };
}

function buildScheduler(layout: Layout): NodeProcess {
  const kubeconfig = getStatePaths(layout).pki('scheduler.kubeconfig');
  return {
    name: 'kube-scheduler',
    tool: 'kube-scheduler',
    args: formatFlags({
      kubeconfig,
      'authentication-kubeconfig': kubeconfig,
      'authorization-kubeconfig': kubeconfig,
      'bind-address': '127.0.0.1',
      'leader-elect': false,
    }),
  };
}
