import { Type } from 'typebox';
import { stringify } from 'yaml';
import { Places } from '../../http/limits/quota.ts';
import { answerJson, bindRoutes, answerText } from '../../http/routes/route.ts';
import {
  DeploymentKubeEvent,
  DeploymentPod,
} from '../../schema/platform/objects/deployment-objects.ts';
import {
  DeploymentCounts,
  DeploymentDetails,
  DEPLOYMENT_STATES,
} from '../../schema/platform/deployment/deployment-summary.ts';
import { buildFreeFormSchema } from '../../schema/types.ts';
import type { ControlPlane } from '../control-plane.ts';
import { buildTenantFilter, findDeployment } from '../deployments/lookup.ts';
import { listKubeEvents } from '../deployments/kube-events.ts';
import { listDeploymentPods } from '../deployments/pods.ts';
import { answerState } from './lifecycle.ts';
import { DeploymentPath, specVersion, buildRestRouteMakers } from './route.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { DEPLOYMENT_STATUSES } from '../../schema/platform/deployment/statuses.ts';
import { getDeploymentStatus } from '../deployments/resource.ts';
import type { StateShown } from '../stored/state.ts';

const route =
  buildRestRouteMakers<[ControlPlane & { oneOfFew: ReturnType<typeof buildListLimiter> }]>(
    'deployments',
  );
const YAML = 'application/yaml';

const readingRoutes = bindRoutes([
  route.get('/v2/deployment-counts', {
    id: 'countDeployments',
    summary: 'Count deployments by state.',
    access: 'read',
    answers: { 200: { description: 'The counts.', schema: DeploymentCounts } },
    handler: async ({ caller }, plane) => {
      const mine = plane.stored.listDeployments().filter(buildTenantFilter(plane, caller));
      return answerJson(
        countDeployments(mine, (deployment) => plane.overview.look(deployment).state),
      );
    },
  }),
  route.get('/v2/deployments/{deployment_id}/state', {
    id: 'getDeploymentState',
    summary:
      'Get the state of a deployment: its conditions, sleep, queue, database, key and branch.',
    access: 'read',
    params: DeploymentPath,
    answers: {
      200: { description: 'Its state.', schema: DeploymentDetails, headers: specVersion },
    },
    handler: async ({ params, ...call }, plane) => {
      return answerState(plane, await findDeployment(plane, params.deployment_id, call));
    },
  }),
  route.get('/v2/deployments/{deployment_id}/resource', {
    id: 'getDeploymentResource',
    summary:
      'Get the custom resource of a deployment, as kubectl shows it. Accept: application/yaml gives YAML.',
    access: 'read',
    params: DeploymentPath,
    answers: {
      200: {
        description: 'The resource, without managedFields.',
        schema: buildFreeFormSchema('The resource.'),
      },
    },
    handler: async ({ params, headers, ...call }, plane) => {
      const resource = toShownResource(
        await findDeployment(plane, params.deployment_id, { ...call }),
      );
      return headers.accept?.includes(YAML) === true
        ? answerText(stringify(resource), YAML)
        : answerJson(resource);
    },
  }),
  route.get('/v2/deployments/{deployment_id}/pods', {
    id: 'listDeploymentPods',
    summary: 'List the pods of a deployment, with a reason for each that is not ready.',
    access: 'read',
    params: DeploymentPath,
    answers: {
      200: {
        description: 'Its pods by name, at most 200.',
        schema: Type.Object({ resources: Type.Array(DeploymentPod) }),
      },
    },
    handler: async ({ params, ...call }, plane) => {
      const deployment = await findDeployment(plane, params.deployment_id, call);
      return answerJson({
        resources: await plane.oneOfFew(call.caller.tenantId, () =>
          listDeploymentPods(plane, deployment, call.signal),
        ),
      });
    },
  }),
  route.get('/v2/deployments/{deployment_id}/kube-events', {
    id: 'listDeploymentKubeEvents',
    summary:
      'List the latest Kubernetes events about the objects of a deployment. Kubernetes deletes them after an hour.',
    access: 'read',
    params: DeploymentPath,
    answers: {
      200: {
        description: 'The events, newest first, at most 200.',
        schema: Type.Object({
          resources: Type.Array(DeploymentKubeEvent),
          complete: Type.Boolean({
            description: 'False if the namespace has too many events to read them all.',
          }),
        }),
      },
    },
    handler: async ({ params, ...call }, plane) => {
      const deployment = await findDeployment(plane, params.deployment_id, call);
      const { events, complete } = await plane.oneOfFew(call.caller.tenantId, () =>
        listKubeEvents(plane, deployment, call.signal),
      );
      return answerJson({ resources: events, complete });
    },
  }),
]);

/** Returns the routes that show how deployments are. None of them shows a value of a secret. */
export const buildOverviewRoutes = (plane: ControlPlane) =>
  readingRoutes({ ...plane, oneOfFew: buildListLimiter() });

/** Lists of a tenant, and of all, that are read from the API server at a time: each may take thousands of objects. */
const LISTS_AT_ONCE = { tenant: 2, all: 8 };
const BUSY = 'Too many lists are being read; try again later.';

/** Returns a function that has few lists of each tenant read at a time, and throws a 429 beyond that. */
function buildListLimiter(): <T>(tenantId: string, read: () => Promise<T>) => Promise<T> {
  const places = new Places();
  return async (tenantId, read) => {
    const leave = places.enter([
      { name: `tenant ${tenantId}`, most: LISTS_AT_ONCE.tenant, message: BUSY },
      { name: 'all', most: LISTS_AT_ONCE.all, message: BUSY },
    ]);
    return read().finally(leave);
  };
}

const buildZeros = <K extends string>(words: readonly K[]): Record<K, number> =>
  Object.fromEntries(words.map((word) => [word, 0])) as Record<K, number>;

/** States whose reasons are counted. Those of the others are no news. */
const REASONED: readonly StateShown['state'][] = ['failed', 'unavailable'];

function countDeployments(
  deployments: Iterable<DeploymentResource>,
  stateOf: (one: DeploymentResource) => StateShown,
): DeploymentCounts {
  const counts = {
    total: 0,
    by_state: buildZeros(DEPLOYMENT_STATES),
    by_status: buildZeros(DEPLOYMENT_STATUSES),
    by_reason: new Map<string, number>(),
  };
  for (const deployment of deployments) {
    const { state, reason } = stateOf(deployment);
    counts.total += 1;
    counts.by_state[state] += 1;
    counts.by_status[getDeploymentStatus(deployment)] += 1;
    if (reason !== null && REASONED.includes(state))
      counts.by_reason.set(reason, (counts.by_reason.get(reason) ?? 0) + 1);
  }
  return { ...counts, by_reason: Object.fromEntries(counts.by_reason) };
}

/** kubectl keeps the whole object in it once more. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Returns a deployment as `kubectl get -o yaml` shows it: without managedFields and the copy of kubectl apply. */
function toShownResource({
  apiVersion,
  kind,
  metadata,
  spec,
  status,
}: DeploymentResource): DeploymentResource {
  const { managedFields: _fields, annotations = {}, ...rest } = metadata;
  const { [LAST_APPLIED]: _applied, ...others } = annotations;
  const shown = { ...rest, ...(Object.keys(others).length > 0 && { annotations: others }) };
  return { apiVersion, kind, metadata: shown, spec, ...(status !== undefined && { status }) };
}
