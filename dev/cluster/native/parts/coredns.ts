import { dnsAddress, getStatePaths, type Layout } from '../layout.ts';
import { buildRoleBinding, type NodePart, type NodeSetup } from '../node-part.ts';
import { GIT_HOST } from './git-host.ts';
import { REGISTRY } from './registry.ts';

const USER = 'system:coredns';

/** Runs CoreDNS as a process of the node, and makes the Service through which pods ask it. */
export const coredns: NodePart = {
  files: (setup) => {
    const { config } = getStatePaths(setup.layout);
    return {
      [config('Corefile')]: formatCorefile(setup),
      [config('resolv.conf')]: setup.nameservers
        .map((address) => `nameserver ${address}\n`)
        .join(''),
    };
  },
  manifest: (layout) => [
    role,
    buildRoleBinding({ user: USER, role: USER }),
    service,
    buildEndpoints(layout),
  ],
  processes: (layout) => [
    { name: 'coredns', tool: 'coredns', args: ['-conf', getStatePaths(layout).config('Corefile')] },
  ],
};

function formatCorefile({ layout, nameservers }: NodeSetup): string {
  const { pki, resolvConf } = getStatePaths(layout);
  const upstream = nameservers.length > 0 ? `    forward . ${resolvConf}\n` : '';
  return `.:53 {
    bind ${layout.nodeAddress}
    errors
    ready ${layout.nodeAddress}:8181
    hosts {
        ${layout.nodeAddress} ${[REGISTRY, GIT_HOST].map((host) => new URL(`http://${host}`).hostname).join(' ')}
        fallthrough
    }
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

const role = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: USER },
  rules: [
    { apiGroups: [''], resources: ['services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
  ],
};

const ports = ['UDP', 'TCP'].map((protocol) => ({
  name: protocol === 'UDP' ? 'dns' : 'dns-tcp',
  port: 53,
  protocol,
}));

// The service has no selector, because CoreDNS is a process of the node, not a pod.
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kube-dns', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
  spec: { clusterIP: dnsAddress, ports },
};

const buildEndpoints = (layout: Layout) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: 'kube-dns-node',
    namespace: 'kube-system',
    labels: { 'kubernetes.io/service-name': 'kube-dns' },
  },
  addressType: 'IPv4',
  ports,
  endpoints: [{ addresses: [layout.nodeAddress], conditions: { ready: true } }],
});
