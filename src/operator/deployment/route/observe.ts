import { keyOf } from '../../../kube/cache.ts';
import { kinds, type KubeObject } from '../../../kube/kube.ts';
import { DEPLOYMENT } from '../../../schema/platform/labels.ts';
import type { DeploymentResource } from '../../../schema/platform/custom-resources.ts';
import { orderOfCreation } from '../../../schema/platform/deployment-ids.ts';
import { placeOf } from '../../routes/stored.ts';
import { BY_PLACE, routeCaches, type Caches } from '../../view/caches.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import { ownersIn } from '../../view/tenancy.ts';
import { planRoute, type RoutePlan } from './plan.ts';

const KIND_OF = { HTTPRoute: kinds.httpRoute, Ingress: kinds.ingress };

/** Observes other routes and the grants of the administrator, and decides about the route of a deployment. */
export function observeRoute(
  { caches, settings, missing, routeParents }: Pick<OperatorDeps, 'caches' | 'settings' | 'missing' | 'routeParents'>,
  deployment: DeploymentResource,
): RoutePlan | undefined {
  const { route } = settings;
  if (route === undefined) return undefined;
  const { spec, metadata } = deployment;
  const asked = spec.route?.hosts ?? spec.sourceConfig?.customUrl;
  const owner = asked === undefined ? undefined : ownersIn(caches, settings).get(metadata.namespace ?? '');
  return planRoute(deployment, {
    settings,
    listener: owner && { name: owner.metadata.name, hosts: owner.spec.hosts ?? [] },
    holderOf: (host, path) => holderOf(placeOf(host, path), deployment, caches),
    isKindMissing: missing.has(KIND_OF[route.kind]),
    parentFeatures: routeParents.features,
  });
}

type RouteCaches = Pick<Caches, 'deployments' | 'httpRoutes' | 'ingresses'>;

/**
 * Returns the deployment that has the place and keeps it: the one whose route has it. If two got it at once, the older
 * one keeps it.
 */
function holderOf(place: string, deployment: DeploymentResource, caches: RouteCaches): string | undefined {
  const key = keyOf(deployment.metadata);
  const ownerOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.annotations?.[DEPLOYMENT]}`;
  const routes = routeCaches(caches).flatMap((cache) => cache.byIndex(BY_PLACE, place));
  const isMine = routes.some((route) => ownerOf(route) === key);
  const rivals = routes
    .filter((route) => ownerOf(route) !== key && route.metadata.deletionTimestamp === undefined)
    .flatMap((route) => caches.deployments.get(ownerOf(route)) ?? []);
  const holder = rivals.find((rival) => !isMine || orderOfCreation(rival) < orderOfCreation(deployment));
  return holder && keyOf(holder.metadata);
}
