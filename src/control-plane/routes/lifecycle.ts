import { resolveDeploymentTenant } from '../../schema/platform/resources/tenancy.ts';
import { answerJson, bindRoutes, type Reply } from '../../http/routes/route.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import {
  DeploymentDetails,
  LifecyclePatch,
} from '../../schema/platform/deployment/deployment-summary.ts';
import type { ControlPlane } from '../control-plane.ts';
import { updateLifecycle, wakeDeployment } from '../deployments/lifecycle.ts';
import { buildEtag } from '../deployments/patch.ts';
import { buildDeploymentDetails } from '../deployments/summary.ts';
import { DeploymentPath, rejected, specVersion, buildRestRouteMakers } from './route.ts';

const route = buildRestRouteMakers<[ControlPlane]>('deployments');
const state = { schema: DeploymentDetails, headers: specVersion };
const conflict = {
  description: 'The deployment is being deleted, or was changed at the same time.',
};

/** Answers with the state of the deployment and its version. */
export async function answerState(
  plane: Omit<ControlPlane, 'kube'>,
  deployment: DeploymentResource,
  status = 200,
): Promise<Reply> {
  const { config, integrations, overview, stored } = plane;
  const tenantId = resolveDeploymentTenant(deployment, stored.getOwners(), config.defaultTenantId);
  const id = deployment.spec.sourceConfig?.integrationId?.toLowerCase();
  const integration = integrations
    .listAll()
    .find((known) => known.id === id && known.tenantId === tenantId);
  const unmatched = integration && (await integrations.findLastUnmatched(integration));
  return answerJson(buildDeploymentDetails(overview.summarize(deployment), unmatched), status, {
    etag: buildEtag(deployment),
  });
}

export const lifecycleRoutes = bindRoutes([
  route.patch('/v2/deployments/{deployment_id}/lifecycle', {
    id: 'patchLifecycle',
    summary:
      'Hibernate or pause a deployment, or change how it sleeps, without a new revision. An absent field stays as it is; null restores the default.',
    access: 'write',
    params: DeploymentPath,
    body: LifecyclePatch,
    answers: {
      200: { description: 'Its state.', ...state },
      400: rejected,
      409: conflict,
      412: { description: 'The deployment is not at the version that If-Match names.' },
    },
    handler: async ({ params, body, headers, ...call }, plane) =>
      answerState(
        plane,
        await updateLifecycle(plane, body, call, {
          id: params.deployment_id,
          ifMatch: headers['if-match'],
        }),
      ),
  }),
  route.post('/v2/deployments/{deployment_id}/wake', {
    id: 'wakeDeployment',
    summary: 'Wake a sleeping deployment. Nothing happens if it is awake.',
    access: 'write',
    params: DeploymentPath,
    answers: { 202: { description: 'It was requested.', ...state }, 409: conflict },
    handler: async ({ params, ...call }, plane) =>
      answerState(plane, await wakeDeployment(plane, params.deployment_id, call), 202),
  }),
]);
