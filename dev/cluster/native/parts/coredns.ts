import { dnsAddress, fileOf, type Layout } from '../layout.ts';
import { roleBinding, type NodePart, type NodeSetup } from '../node-part.ts';
import { GIT_HOST } from './git-host.ts';
import { REGISTRY } from './registry.ts';

const USER = 'system:coredns';

/** Runs CoreDNS as a process of the node, and makes the Service through which pods ask it. */
export const coredns: NodePart = {
  files: (setup) => {
    const { config } = fileOf(setup.layout);
    return {
      [config('Corefile')]: corefile(setup),
      [config('resolv.conf')]: setup.nameservers.map((address) => `nameserver ${address}\n`).join(''),
    };
  },
  manifest: (layout) => [role, roleBinding({ user: USER, role: USER }), service, endpoints(layout)],
  processes: (layout) => [{ name: 'coredns', tool: 'coredns', args: ['-conf', fileOf(layout).config('Corefile')] }],
};

function corefile({ layout, nameservers }: NodeSetup): string {
  const { pki, resolvConf } = fileOf(layout);
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

const endpoints = (layout: Layout) => ({
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
