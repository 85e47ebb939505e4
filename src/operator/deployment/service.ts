import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { COMPONENT, DEPLOYMENT, NODE_PORT, REVISION, selectorOf } from '../../schema/labels.ts';
import { labelValue, names } from '../../schema/names.ts';
import { DATABASE_PORT } from '../database/own/set.ts';
import { ownedMetadata } from '../family/metadata.ts';

export const SERVICE_PORT = 80;

/** The database's stable name inside the cluster. */
export function databaseService(deployment: DeploymentResource): KubeObject {
  const { name } = deployment.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMetadata(deployment, 'database', names.database(name)),
    spec: {
      clusterIP: 'None',
      selector: selectorOf(name, 'database'),
      // The pod is not ready while its guard is started again, and Postgres answers all the same. One that starts refuses by itself.
      publishNotReadyAddresses: true,
      ports: [{ name: 'postgres', port: DATABASE_PORT, targetPort: 'postgres', protocol: 'TCP' }],
    },
  };
}

/** Only the deployment's own pods reach its database: its agents, and those that tell it of a password. */
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

/** A revision that no pod belongs to: where the Service points while nothing serves. */
const NOBODY = 'none';

/** The revision whose pods a Service sends clients to, as its label says; undefined for the Service of a database, and without one (pure). */
export const selectedBy = (service: KubeObject | undefined): string | undefined =>
  (service?.spec as { selector?: Record<string, string> } | undefined)?.selector?.[REVISION];

/** What clients of the agent reach: the api pods of the active revision, and nothing while there is none. */
export function agentService(deployment: DeploymentResource, settings: OperatorSettings, active: string | undefined): KubeObject {
  const { name, annotations } = deployment.metadata;
  const nodePort = Number(annotations?.[NODE_PORT]);
  const isNodePort = settings.exposeAs === 'NodePort';
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMetadata(deployment, 'agent', names.service(name)),
    spec: {
      type: settings.exposeAs,
      selector: selectorOf(name, 'api', active ?? NOBODY),
      ports: [
        {
          name: 'http',
          port: SERVICE_PORT,
          targetPort: 'http',
          protocol: 'TCP',
          ...(isNodePort && Number.isInteger(nodePort) && nodePort > 0 && { nodePort }),
        },
      ],
    },
  };
}

type ServiceSpec = { type?: string; ports?: { nodePort?: number }[] };

/** Where the agent answers: the user's own address, else the node port, else the name inside the cluster. */
export function urlOf(deployment: DeploymentResource, settings: OperatorSettings, service: KubeObject | undefined): string {
  const { name, namespace } = deployment.metadata;
  const custom = deployment.spec.sourceConfig?.customUrl;
  if (custom !== undefined) return custom;
  const nodePort = (service?.spec as ServiceSpec | undefined)?.ports?.[0]?.nodePort;
  if (settings.exposeAs === 'NodePort' && settings.nodeHost !== undefined && nodePort !== undefined) {
    return `http://${settings.nodeHost}:${nodePort}`;
  }
  return `http://${names.service(name)}.${namespace}.svc.${settings.clusterDomain}`;
}
