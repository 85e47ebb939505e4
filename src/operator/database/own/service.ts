import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/custom-resources.ts';
import { selectorOf } from '../../../schema/platform/labels.ts';
import { names } from '../../../schema/names.ts';
import { appliedMetadata } from '../../objects/metadata.ts';
import { DATABASE_PORT } from './size.ts';

/** Gives the database a stable name inside the cluster. */
export function databaseService(deployment: DeploymentResource): KubeObject {
  const { name } = deployment.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: appliedMetadata(deployment, 'database', names.database(name)),
    spec: {
      clusterIP: 'None',
      selector: selectorOf(name, 'database'),
      // While the guard restarts, the pod is not ready but Postgres answers. A Postgres that is starting refuses by
      // itself.
      publishNotReadyAddresses: true,
      ports: [{ name: 'postgres', port: DATABASE_PORT, targetPort: 'postgres', protocol: 'TCP' }],
    },
  };
}
