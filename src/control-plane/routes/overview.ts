import { Type } from 'typebox';
import { stringify } from 'yaml';
import { Places } from '../../http/quota.ts';
import { json, text, type Route } from '../../http/route.ts';
import { DeploymentKubeEvent, DeploymentPod } from '../../schema/platform/deployment-objects.ts';
import { DeploymentCounts, DeploymentDetails } from '../../schema/platform/deployment-summary.ts';
import { FreeForm } from '../../schema/types.ts';
import type { Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { belongsTo, findDeployment } from '../deployments/lookup.ts';
import { etagOf } from '../deployments/patch.ts';
import { countsOf } from '../deployments/counts.ts';
import { kubeEventsOf } from '../deployments/kube-events.ts';
import { podsOfDeployment } from '../deployments/pods.ts';
import { resourceShown } from '../deployments/resource-shown.ts';
import { detailsOf } from '../deployments/summary.ts';
import { DeploymentPath, failures, notFound, restRoute, specVersion } from './route.ts';

type Plane = Pick<ControlPlane, 'config' | 'kube' | 'overview' | 'stored'>;

const tag = 'deployments';
const YAML = 'application/yaml';

/** Returns the routes that show how deployments are. None of them shows a value of a secret. */
export const overviewRoutes = (plane: Plane): Route<Caller>[] => [...ofResources(plane), ...ofObjects(plane)];

const ofResources = (plane: Plane): Route<Caller>[] => [
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

/** Lists that are read from the API server at a time: each may take thousands of objects. */
const LISTS_AT_ONCE = 4;
const BUSY = 'Too many lists are being read; try again later.';

type OneOfFew = <T>(read: () => Promise<T>) => Promise<T>;

/** Returns a function that has few lists read at a time, and throws a 429 beyond that. */
function fewAtOnce(): OneOfFew {
  const places = new Places();
  return async (read) => {
    const leave = places.enter([{ name: 'all', most: LISTS_AT_ONCE, message: BUSY }]);
    return read().finally(leave);
  };
}

function ofObjects(plane: Plane): Route<Caller>[] {
  const oneOfFew = fewAtOnce();
  return [
    restRoute({
      method: 'get',
      path: '/v2/deployments/{deployment_id}/pods',
      id: 'listDeploymentPods',
      summary: 'The pods of a deployment, with the reason of each that is not ready.',
      tag,
      access: 'read',
      params: DeploymentPath,
      answers: {
        200: { description: 'Its pods by name, at most 200.', schema: Type.Object({ resources: Type.Array(DeploymentPod) }) },
        404: notFound,
        ...failures,
      },
      handler: async ({ params, ...call }) => {
        const deployment = await findDeployment(plane, params.deployment_id, call);
        return json({ resources: await oneOfFew(() => podsOfDeployment(plane, deployment, call.signal)) });
      },
    }),
    restRoute({
      method: 'get',
      path: '/v2/deployments/{deployment_id}/kube-events',
      id: 'listDeploymentKubeEvents',
      summary: 'The last events that Kubernetes has of the objects of a deployment. It forgets them after an hour.',
      tag,
      access: 'read',
      params: DeploymentPath,
      answers: {
        200: {
          description: 'The events, the last one first, at most 200.',
          schema: Type.Object({
            resources: Type.Array(DeploymentKubeEvent),
            complete: Type.Boolean({ description: 'False where the namespace has too many events to read all.' }),
          }),
        },
        404: notFound,
        ...failures,
      },
      handler: async ({ params, ...call }) => {
        const deployment = await findDeployment(plane, params.deployment_id, call);
        const { events, complete } = await oneOfFew(() => kubeEventsOf(plane, deployment, call.signal));
        return json({ resources: events, complete });
      },
    }),
  ];
}
