import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { API_VERSION, type DeploymentResource, type TracingProjectResource } from '../../schema/custom-resources.ts';
import { DEPLOYMENT, TENANT } from '../../schema/labels.ts';
import { labelValue, names } from '../../schema/names.ts';
import { namedTenant, ownersOf, tenantOf } from '../../schema/tenancy.ts';
import { BY_NAME, type Caches } from '../family/caches.ts';

/** Returns the tenant that a deployment belongs to, as REST sees it. */
export const tenantIn = (deployment: DeploymentResource, { listeners }: Pick<Caches, 'listeners'>, settings: OperatorSettings): string =>
  tenantOf(deployment, ownersOf(listeners.list()), settings.defaultTenantId);

/** Returns whether the deployment has its tracing project, still needs it, or may not have it. */
export function tracingState(
  deployment: DeploymentResource,
  caches: Pick<Caches, 'deployments' | 'listeners' | 'tracingProjects'>,
  settings: OperatorSettings,
): { state: 'there' | 'taken' } | { state: 'missing'; project: KubeObject } {
  const { name } = deployment.metadata;
  const tenant = tenantIn(deployment, caches, settings);
  const rivals = caches.deployments.byIndex(BY_NAME, name).filter((other) => {
    return other.metadata.uid !== deployment.metadata.uid && tenantIn(other, caches, settings) === tenant;
  });
  if (rivals.some((other) => isOlder(other, deployment))) return { state: 'taken' };
  const isOurs = ({ spec }: TracingProjectResource): boolean => namedTenant(spec, settings.defaultTenantId) === tenant;
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
