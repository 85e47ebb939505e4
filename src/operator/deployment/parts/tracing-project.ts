import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { TRACING_PROJECT_SHARED } from '../../../schema/platform/objects/conditions.ts';
import {
  type DeploymentResource,
  type TracingProjectResource,
} from '../../../schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../schema/platform/objects/api-group.ts';
import { DEPLOYMENT, TENANT } from '../../../schema/platform/objects/labels.ts';
import { toLabelValue, names } from '../../../schema/names.ts';
import {
  type Owners,
  resolveDeploymentTenant,
  resolveProjectTenant,
} from '../../../schema/platform/resources/tenancy.ts';
import { BY_NAME, type Caches } from '../../view/caches.ts';
import { mapNamespaceOwners } from '../../view/tenancy.ts';
import type { Part, TracingState } from '../part.ts';

/** The tracing project of a deployment, which stays when the deployment goes. */
export const tracingProject: Part = {
  async prepare({ writer }, { tracing }, signal) {
    if (tracing.state === 'missing') await writer.create(tracing.project, signal);
    return {};
  },
  report({ tracing }) {
    if (tracing.state !== 'shared') return {};
    const message =
      'An older deployment of this tenant has this name: they share its tracing project.';
    return {
      statements: [{ type: TRACING_PROJECT_SHARED, status: 'True', reason: 'NameTaken', message }],
    };
  },
};

/**
 * Returns whether a deployment has its tracing project, shares that of an older deployment of its tenant, or needs one.
 * A deployment without a tenant shares nothing with other namespaces.
 */
export function resolveTracingState(
  deployment: DeploymentResource,
  caches: Caches,
  settings: OperatorSettings,
): TracingState {
  const { name, uid } = deployment.metadata;
  const owners = mapNamespaceOwners(caches, settings);
  const tenant = resolveDeploymentTenant(deployment, owners, settings.defaultTenantId);
  const rivals = caches.deployments.listByIndex(BY_NAME, name).filter((other) => {
    return (
      other.metadata.uid !== uid &&
      tenant !== undefined &&
      resolveDeploymentTenant(other, owners, settings.defaultTenantId) === tenant
    );
  });
  if (rivals.some((other) => isOlder(other, deployment))) return { state: 'shared' };
  const isOurs = buildOwnProjectTest(deployment, tenant, owners, settings);
  if (caches.tracingProjects.listByIndex(BY_NAME, name).some(isOurs)) return { state: 'there' };
  return { state: 'missing', project: buildTracingProject(deployment, tenant) };
}

/** Returns a predicate that is true for projects of the deployment's tenant, or of its namespace if it has none. */
const buildOwnProjectTest =
  (
    { metadata: { namespace } }: DeploymentResource,
    tenant: string | undefined,
    owners: Owners,
    settings: OperatorSettings,
  ) =>
  (project: TracingProjectResource): boolean =>
    tenant === undefined
      ? project.metadata.namespace === namespace
      : resolveProjectTenant(project, owners, settings.defaultTenantId) === tenant;

function isOlder(a: DeploymentResource, b: DeploymentResource): boolean {
  const buildAgeKey = (deployment: DeploymentResource): string =>
    `${deployment.metadata.creationTimestamp}/${deployment.metadata.uid}`;
  return buildAgeKey(a) < buildAgeKey(b);
}

/** Returns the tracing project of a deployment. One that belongs to nobody names no tenant. */
export function buildTracingProject(
  { metadata }: DeploymentResource,
  tenant: string | undefined,
): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: 'TracingProject',
    metadata: {
      name: names.tracingProject(tenant ?? '', metadata.name),
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: {
        [DEPLOYMENT]: toLabelValue(metadata.name),
        ...(tenant !== undefined && { [TENANT]: tenant }),
      },
    },
    spec: { ...(tenant !== undefined && { tenantId: tenant }), projectName: metadata.name },
  };
}
