import type { Access } from './access.ts';

const NAMESPACE = 'gx-system';
const RBAC = 'rbac.authorization.k8s.io';

/** The account of one process and its rights, for an installation that works on all namespaces. */
export function rbacObjects(component: string, access: Access): object[] {
  const name = `gx-${component}`;
  const labels = {
    'app.kubernetes.io/name': 'gx-platform',
    'app.kubernetes.io/instance': 'gx',
    'app.kubernetes.io/component': component,
    'app.kubernetes.io/part-of': 'gx-platform',
  };
  const account = { kind: 'ServiceAccount', name, namespace: NAMESPACE };
  const grant = (prefix: 'Cluster' | '', rules: object[]): object[] => {
    const metadata = { name, ...(prefix === '' && { namespace: NAMESPACE }), labels };
    const roleRef = { apiGroup: RBAC, kind: `${prefix}Role`, name };
    return [
      { apiVersion: `${RBAC}/v1`, kind: `${prefix}Role`, metadata, rules },
      { apiVersion: `${RBAC}/v1`, kind: `${prefix}RoleBinding`, metadata, roleRef, subjects: [account] },
    ];
  };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: NAMESPACE, labels } },
    ...grant('', access.ownWithApiKeys ?? access.own),
    ...grant('Cluster', access.watched),
  ];
}
