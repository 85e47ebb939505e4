import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/custom-resources.ts';
import { COMPONENT, DEPLOYMENT, selectorOf } from '../../../schema/labels.ts';
import { labelValue, names } from '../../../schema/names.ts';
import { ownedMetadata } from '../../family/metadata.ts';
import { DATABASE_PORT } from './size.ts';

/** Lets only the deployment's own pods reach its database: its agents, and those that change its password. */
export function databasePolicy(deployment: DeploymentResource): KubeObject {
  const { name } = deployment.metadata;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: ownedMetadata(deployment, 'database', names.databasePolicy(name)),
    spec: {
      podSelector: { matchLabels: selectorOf(name, 'database') },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [
            {
              podSelector: {
                matchLabels: { [DEPLOYMENT]: labelValue(name) },
                matchExpressions: [{ key: COMPONENT, operator: 'In', values: ['api', 'queue', 'password'] }],
              },
            },
          ],
          ports: [{ protocol: 'TCP', port: DATABASE_PORT }],
        },
      ],
    },
  };
}
