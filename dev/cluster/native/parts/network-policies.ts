import { join } from 'node:path';
import { getStatePaths } from '../layout.ts';
import { buildRoleBinding, type NodePart } from '../node-part.ts';

const USER = 'system:policy-agent';

/** Runs the agent that holds the pods' traffic to the NetworkPolicies. */
export const networkPolicies: NodePart = {
  manifest: () => [role, buildRoleBinding({ user: USER, role: USER })],
  processes: (layout) => [
    {
      name: 'policy-agent',
      tool: 'node',
      args: [
        join(import.meta.dirname, '..', 'policies', 'agent.ts'),
        getStatePaths(layout).pki('policy-agent.kubeconfig'),
      ],
    },
  ],
};

const role = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: USER },
  rules: [
    { apiGroups: [''], resources: ['pods', 'namespaces'], verbs: ['list', 'watch'] },
    { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['list', 'watch'] },
  ],
};
