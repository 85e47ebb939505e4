import type { DeploymentResource, ListenerResource } from '../schema/custom-resources.ts';
import { TENANT } from '../schema/labels.ts';

/** The Listener that a deployment is placed by: the one it names, else the one that serves its namespace. */
export function listenerOf(deployment: DeploymentResource, listeners: ListenerResource[]): ListenerResource | undefined {
  const { namespace = '' } = deployment.metadata;
  const named = deployment.spec.sourceConfig?.listener;
  return listeners.find(({ metadata }) => metadata.name === named) ?? listeners.find(({ spec }) => spec.namespaces.includes(namespace));
}

/** Whose deployment it is: the tenant that made it by REST, else the tenant that its namespace belongs to. */
export function tenantOf(deployment: DeploymentResource, listeners: ListenerResource[], defaultTenantId: string): string {
  return deployment.metadata.labels?.[TENANT] ?? listenerOf(deployment, listeners)?.spec.tenantId ?? defaultTenantId;
}
