import { dnsAddress, type Layout } from './layout.ts';

/** What the cluster's own components need in the API. */
export const manifests = (layout: Layout) => ({
  apiVersion: 'v1',
  kind: 'List',
  items: [
    storageClass,
    bindingOf('system:volume-provisioner', 'system:persistent-volume-provisioner'),
    dnsRole,
    bindingOf('system:coredns', 'system:coredns'),
    dnsService,
    dnsEndpoints(layout),
  ],
});

const storageClass = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: {
    name: 'standard',
    annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
  },
  provisioner: 'gx-platform.dev/node-folder',
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'WaitForFirstConsumer',
};

const bindingOf = (user: string, role: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: user },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
});

const dnsRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'system:coredns' },
  rules: [
    { apiGroups: [''], resources: ['services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
  ],
};

const dnsPorts = ['UDP', 'TCP'].map((protocol) => ({
  name: protocol === 'UDP' ? 'dns' : 'dns-tcp',
  port: 53,
  protocol,
}));

// No selector: CoreDNS is a process of the node, not a pod.
const dnsService = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'kube-dns', namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
  spec: { clusterIP: dnsAddress, ports: dnsPorts },
};

const dnsEndpoints = (layout: Layout) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: 'kube-dns-node',
    namespace: 'kube-system',
    labels: { 'kubernetes.io/service-name': 'kube-dns' },
  },
  addressType: 'IPv4',
  ports: dnsPorts,
  endpoints: [{ addresses: [layout.nodeAddress], conditions: { ready: true } }],
});
