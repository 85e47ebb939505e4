import { buildObjectKey } from '../../../kube/cache.ts';
import { kinds } from '../../../kube/kinds.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { DEPLOYMENT } from '../../../schema/platform/objects/labels.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { buildCreationKey } from '../../../schema/platform/resources/deployment-ids.ts';
import { formatRoutePlace } from '../../routes/stored.ts';
import { BY_PLACE, listRouteCaches, type Caches } from '../../view/caches.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import { mapNamespaceOwners } from '../../view/tenancy.ts';
import { planRoute, type RoutePlan } from './plan.ts';

const KIND_OF = { HTTPRoute: kinds.httpRoute, Ingress: kinds.ingress };

/** Observes other routes and the grants of the administrator, and decides about the route of a deployment. */
export function observeRoute(
  { caches, settings, missing, routeParents }: OperatorDeps,
  deployment: DeploymentResource,
): RoutePlan | undefined {
  const { route } = settings;
  if (route === undefined) return undefined;
  const { spec, metadata } = deployment;
  const asked = spec.route?.hosts ?? spec.sourceConfig?.customUrl;
  const owner =
    asked === undefined
      ? undefined
      : mapNamespaceOwners(caches, settings).get(metadata.namespace ?? '');
  return planRoute(deployment, {
    settings,
    listener: owner && { name: owner.metadata.name, hosts: owner.spec.hosts ?? [] },
    holderOf: (host, path) => findHolder(formatRoutePlace(host, path), deployment, caches),
    isKindMissing: missing.has(KIND_OF[route.kind]),
    parentFeatures: routeParents.features,
  });
}

/**
 * Returns the deployment that has the place and keeps it: the one whose route has it. If two got it at once, the older
 * one keeps it.
 */
function findHolder(
  place: string,
  deployment: DeploymentResource,
  caches: Caches,
): string | undefined {
  const key = buildObjectKey(deployment.metadata);
  const getOwnerKey = ({ metadata }: KubeObject): string =>
    `${metadata.namespace}/${metadata.annotations?.[DEPLOYMENT]}`;
  const routes = listRouteCaches(caches).flatMap((cache) => cache.listByIndex(BY_PLACE, place));
  const isMine = routes.some((route) => getOwnerKey(route) === key);
  const rivals = routes
    .filter((route) => getOwnerKey(route) !== key && route.metadata.deletionTimestamp === undefined)
    .flatMap((route) => caches.deployments.get(getOwnerKey(route)) ?? []);
  const holder = rivals.find(
    (rival) => !isMine || buildCreationKey(rival) < buildCreationKey(deployment),
  );
  return holder && buildObjectKey(holder.metadata);
}
