import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { API_VERSION, type DeploymentResource, type TracingProjectResource } from '../../schema/custom-resources.ts';
import { DEPLOYMENT, TENANT } from '../../schema/labels.ts';
import { labelValue, names } from '../../schema/names.ts';
import { BY_NAME, type Caches } from '../caches.ts';

/** The tenant a deployment belongs to: what REST wrote on it, else that of its namespace's Listener, else the default one (pure). */
export function tenantOf(deployment: DeploymentResource, caches: Pick<Caches, 'listeners'>, settings: OperatorSettings): string {
  const written = deployment.metadata.labels?.[TENANT];
  if (written !== undefined) return written;
  const namespace = deployment.metadata.namespace ?? '';
  const listener = caches.listeners.list().find(({ spec }) => spec.namespaces.includes(namespace));
  return listener?.spec.tenantId ?? settings.defaultTenantId;
}

/** Whether the deployment has its tracing project, still needs it, or may not have it (pure). */
export function tracingState(
  deployment: DeploymentResource,
  caches: Pick<Caches, 'deployments' | 'listeners' | 'tracingProjects'>,
  settings: OperatorSettings,
): { state: 'there' | 'taken' } | { state: 'missing'; project: KubeObject } {
  const { name } = deployment.metadata;
  const tenant = tenantOf(deployment, caches, settings);
  const rivals = caches.deployments.byIndex(BY_NAME, name).filter((other) => {
    return other.metadata.uid !== deployment.metadata.uid && tenantOf(other, caches, settings) === tenant;
  });
  if (rivals.some((other) => isOlder(other, deployment))) return { state: 'taken' };
  const isOurs = ({ spec }: TracingProjectResource): boolean => (spec.tenantId ?? settings.defaultTenantId) === tenant;
  if (caches.tracingProjects.byIndex(BY_NAME, name).some(isOurs)) return { state: 'there' };
  return { state: 'missing', project: tracingProject(deployment, tenant) };
}

function isOlder(a: DeploymentResource, b: DeploymentResource): boolean {
  const order = (deployment: DeploymentResource): string => `${deployment.metadata.creationTimestamp}/${deployment.metadata.uid}`;
  return order(a) < order(b);
}

export function tracingProject({ metadata }: DeploymentResource, tenant: string): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: 'TracingProject',
    metadata: {
      name: names.tracingProject(tenant, metadata.name),
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: { [DEPLOYMENT]: labelValue(metadata.name), [TENANT]: tenant },
    },
    spec: { tenantId: tenant, projectName: metadata.name },
  };
}
