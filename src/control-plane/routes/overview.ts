import { stringify } from 'yaml';
import { json, text, type Route } from '../../http/route.ts';
import { DeploymentCounts, DeploymentDetails } from '../../schema/platform/deployment-summary.ts';
import { FreeForm } from '../../schema/types.ts';
import type { Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { belongsTo, findDeployment } from '../deployments/lookup.ts';
import { etagOf } from '../deployments/patch.ts';
import { countsOf } from '../deployments/counts.ts';
import { resourceShown } from '../deployments/resource-shown.ts';
import { detailsOf } from '../deployments/summary.ts';
import { DeploymentPath, failures, notFound, restRoute, specVersion } from './route.ts';

type Plane = Pick<ControlPlane, 'config' | 'overview' | 'stored'>;

const tag = 'deployments';
const YAML = 'application/yaml';

/** Returns the routes that show how deployments are. None of them shows a value of a secret. */
export const overviewRoutes = (plane: Plane): Route<Caller>[] => [
  restRoute({
    method: 'get',
    path: '/v2/deployment-counts',
    id: 'countDeployments',
    summary: 'Count deployments by how they are.',
    tag,
    access: 'read',
    answers: { 200: { description: 'The counts.', schema: DeploymentCounts }, ...failures },
    handler: async ({ caller }) => {
      const mine = plane.stored.deployments().filter(belongsTo(plane, caller));
      return json(countsOf(mine, (deployment) => plane.overview.look(deployment).state));
    },
  }),
  restRoute({
    method: 'get',
    path: '/v2/deployments/{deployment_id}/state',
    id: 'getDeploymentState',
    summary: 'How a deployment is: its conditions, sleep, queue, database, key and branch.',
    tag,
    access: 'read',
    params: DeploymentPath,
    answers: { 200: { description: 'Its state.', schema: DeploymentDetails, headers: specVersion }, 404: notFound, ...failures },
    handler: async ({ params, ...call }) => {
      const deployment = await findDeployment(plane, params.deployment_id, call);
      return json(detailsOf(plane.overview.of(deployment)), 200, { etag: etagOf(deployment) });
    },
  }),
  restRoute({
    method: 'get',
    path: '/v2/deployments/{deployment_id}/resource',
    id: 'getDeploymentResource',
    summary: 'The custom resource of a deployment, as kubectl shows it. With Accept: application/yaml as YAML.',
    tag,
    access: 'read',
    params: DeploymentPath,
    answers: {
      200: { description: 'The resource, without managedFields.', schema: FreeForm('The resource.') },
      404: notFound,
      ...failures,
    },
    handler: async ({ params, headers, ...call }) => {
      const resource = resourceShown(await findDeployment(plane, params.deployment_id, { ...call }));
      return headers.accept?.includes(YAML) === true ? text(stringify(resource), YAML) : json(resource);
    },
  }),
];
