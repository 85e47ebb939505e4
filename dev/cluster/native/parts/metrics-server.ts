import { formatFlags } from '../../../commands.ts';
import { getStatePaths, type Layout } from '../layout.ts';
import { buildRoleBinding, type NodePart } from '../node-part.ts';

const USER = 'system:metrics-server';
/** The kubelet has 10250, which is the usual one. */
const PORT = 10_260;
const GROUP = { group: 'metrics.k8s.io', version: 'v1beta1' };
const place = { name: 'metrics-server', namespace: 'kube-system' };

/** Runs a metrics server as a process of the node: autoscalers and `kubectl top` ask the API server, which asks it. */
export const metricsServer: NodePart = {
  extra: 'metrics',
  manifest: (layout) => [
    role,
    buildRoleBinding({ user: USER, role: USER }),
    delegator,
    authenticationReader,
    service,
    buildEndpoints(layout),
    apiService,
  ],
  processes: (layout) => [
    { name: 'metrics-server', tool: 'metrics-server', args: buildArguments(layout) },
  ],
};

function buildArguments(layout: Layout): string[] {
  const { pki, config } = getStatePaths(layout);
  const kubeconfig = pki('metrics-server.kubeconfig');
  return formatFlags({
    kubeconfig,
    'authentication-kubeconfig': kubeconfig,
    'authorization-kubeconfig': kubeconfig,
    'bind-address': layout.nodeAddress,
    'secure-port': PORT,
    // It signs a certificate of its own there.
    'cert-dir': config('metrics-server'),
    'kubelet-certificate-authority': pki('ca.crt'),
    'kubelet-preferred-address-types': 'InternalIP',
    // The shortest time that it takes, which must be longer than a request to a kubelet may take.
    'metric-resolution': '10s',
    'kubelet-request-timeout': '5s',
  });
}

const role = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: USER },
  rules: [
    { apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] },
    { apiGroups: [''], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] },
  ],
};

const delegator = {
  ...buildRoleBinding({ user: USER, role: 'system:auth-delegator' }),
  metadata: { name: `${USER}:auth-delegator` },
};

const authenticationReader = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { ...place, name: 'metrics-server-auth-reader' },
  roleRef: {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'Role',
    name: 'extension-apiserver-authentication-reader',
  },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: USER }],
};

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: place,
  spec: { ports: [{ name: 'https', port: 443, protocol: 'TCP' }] },
};

const buildEndpoints = (layout: Layout) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: 'metrics-server-node',
    namespace: place.namespace,
    labels: { 'kubernetes.io/service-name': place.name },
  },
  addressType: 'IPv4',
  ports: [{ name: 'https', port: PORT, protocol: 'TCP' }],
  endpoints: [{ addresses: [layout.nodeAddress], conditions: { ready: true } }],
});

const apiService = {
  apiVersion: 'apiregistration.k8s.io/v1',
  kind: 'APIService',
  metadata: { name: `${GROUP.version}.${GROUP.group}` },
  spec: {
    ...GROUP,
    service: place,
    insecureSkipTLSVerify: true,
    groupPriorityMinimum: 100,
    versionPriority: 100,
  },
};
