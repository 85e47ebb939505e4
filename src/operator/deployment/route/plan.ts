import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { RouteSettings } from '../../../config/platform/routes.ts';
import { HOST_TAKEN } from '../../../schema/platform/objects/conditions.ts';
import type {
  DeploymentResource,
  DeploymentSpec,
} from '../../../schema/platform/resources/custom-resources.ts';
import {
  expandRoutePattern,
  findOverlap,
  checkRouteHost,
  isGranted,
  parseRoutePlace,
  type RoutePlace,
} from '../../../schema/platform/spec/route-place.ts';

export type RoutePlan = {
  settings: RouteSettings;
  /** Its hosts, without those that it may not have. */
  hosts: string[];
  path: string;
  /** The reason why it does not have the first of the others. */
  fault: RouteFault | undefined;
  /** True while the cluster has no such kind. */
  isKindMissing: boolean;
  /** The features of its parents, if they are known. */
  parentFeatures: ReadonlySet<string> | undefined;
};
type RouteFault = { reason: string; message: string };

/** The knowledge about other routes and about the grants of the administrator. */
export type RouteWorld = {
  settings: OperatorSettings;
  /** The Listener of the deployment's namespace: its name, and the hosts that it grants. */
  listener: { name: string; hosts: readonly string[] } | undefined;
  /** Returns the deployment that has the place and keeps it. */
  holderOf: (host: string, path: string) => string | undefined;
  isKindMissing: boolean;
  parentFeatures: ReadonlySet<string> | undefined;
};

/** Decides about the route of a deployment. Undefined: it has none. */
export function planRoute(
  { metadata, spec }: DeploymentResource,
  world: RouteWorld,
): RoutePlan | undefined {
  const { route } = world.settings;
  if (route === undefined || spec.route?.enabled === false) return undefined;
  const names = { name: metadata.name, namespace: metadata.namespace ?? '' };
  const own = {
    host: expandRoutePattern(route.host, names),
    path: expandRoutePattern(route.path, names),
  };
  const asked = resolveRequestedRoute(spec, own);
  const path = asked.path ?? own.path;
  const judged = asked.hosts.map((host) => ({
    host,
    fault: findFault({ host, path }, own, { ...world, route }),
  }));
  return {
    settings: route,
    hosts: judged.flatMap(({ host, fault }) => (fault === undefined ? [host] : [])),
    path,
    fault: asked.fault ?? judged.find(({ fault }) => fault !== undefined)?.fault,
    isKindMissing: world.isKindMissing,
    parentFeatures: world.parentFeatures,
  };
}

/** Returns the hosts and the path that a deployment asks for: by its route, its custom URL, or the pattern. */
function resolveRequestedRoute(
  { route = {}, sourceConfig }: DeploymentSpec,
  own: RoutePlace,
): { hosts: readonly string[]; path?: string | undefined; fault?: RouteFault } {
  const { hosts, path } = route;
  if (hosts !== undefined) return { hosts, path };
  if (sourceConfig?.customUrl === undefined) return { hosts: [own.host], path };
  const place = parseRoutePlace(sourceConfig.customUrl);
  if ('fault' in place)
    return {
      hosts: [],
      fault: {
        reason: 'HostInvalid',
        message: `The route can't have the custom URL: ${place.fault}.`,
      },
    };
  return { hosts: [place.host], path: path ?? place.path };
}

function findFault(
  wanted: RoutePlace,
  own: RoutePlace,
  world: RouteWorld & { route: RouteSettings },
): RouteFault | undefined {
  const { host, path } = wanted;
  const fault = checkRouteHost(host);
  if (fault !== undefined)
    return { reason: 'HostInvalid', message: `The route can't have its host: ${fault}.` };
  const refusal = findRefusal(wanted, own, world);
  if (refusal !== undefined) return refusal;
  const holder = world.holderOf(host, path);
  if (holder === undefined) return undefined;
  return {
    reason: HOST_TAKEN,
    message: `The deployment ${holder} has the host ${host} with the path ${path}.`,
  };
}

/**
 * Returns why nobody has granted the place. The one by the pattern of the installation is granted, unless its host is
 * reserved.
 */
function findRefusal(
  { host, path }: RoutePlace,
  own: RoutePlace,
  { listener, route }: RouteWorld & { route: RouteSettings },
): RouteFault | undefined {
  // Before every grant: one that covers such a host by its `*` does not mean it.
  if (findOverlap(host, route.reservedHosts) !== undefined) {
    const message = `The host ${host} is not allowed. It is the platform's own, or reserved by the installation (settings.route.reservedHosts).`;
    return { reason: 'HostNotAllowed', message };
  }
  if (isGranted(host, listener?.hosts ?? [])) return undefined;
  if (host === own.host) {
    if (!route.isHostShared || isBelow(path, own.path)) return undefined;
    const message = `The host ${host} is that of many deployments. The path must be ${own.path} or below it.`;
    return { reason: 'PathNotAllowed', message };
  }
  const why =
    listener === undefined
      ? 'No Listener has the namespace of the deployment'
      : `${host} is not among the hosts of listener ${listener.name}`;
  return { reason: 'HostNotAllowed', message: `The host ${host} is not allowed. ${why}.` };
}

const isBelow = (path: string, above: string): boolean =>
  path === above || path.startsWith(`${above}/`);

/** Returns true if the server does not know the path, so that a request loses it on its way. */
export const isStripped = (path: string, mountPrefix: string): boolean =>
  path !== '/' && path !== mountPrefix;

/** Returns where a client outside finds the server: at its first host, below its path and the server's mount prefix. */
export function buildOutsideAddress(
  { settings, hosts, path }: RoutePlan,
  mountPrefix: string,
): string | undefined {
  const [host] = hosts;
  if (host === undefined) return undefined;
  const scheme =
    settings.kind === 'HTTPRoute' ? settings.scheme : settings.tls === undefined ? 'http' : 'https';
  const below = path === '/' ? '' : path;
  return `${scheme}://${host}${below}${path === mountPrefix ? '' : mountPrefix}`;
}
