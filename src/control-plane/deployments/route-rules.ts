import type { RouteSettings } from '../../config/platform/routes.ts';
import {
  expandRoutePattern,
  findOverlap,
  isGranted,
  parseRoutePlace,
  type RoutePlace,
} from '../../schema/platform/spec/route-place.ts';
import type { Broken } from './rules.ts';

type RouteGrants = {
  /** Undefined: the installation has no routes, and custom URLs are only shown. */
  route: RouteSettings | undefined;
  name: string;
  namespace: string;
  /** The Listener of the namespace: its name, and the hosts that it grants. */
  listener: { name: string; hosts: readonly string[] } | undefined;
};

const FIELD = 'source_config.custom_url';

/** Returns the place that a custom URL asks for, or the broken rule if it may not have it. */
export function resolveRoutePlace(
  url: string,
  { route, name, namespace, listener }: RouteGrants,
): RoutePlace | { broken: Broken } | undefined {
  if (route === undefined) return undefined;
  const place = parseRoutePlace(url);
  if ('fault' in place) return { broken: `${FIELD}: ${place.fault}` };
  const { host, path } = place;
  if (findOverlap(host, route.reservedHosts) !== undefined)
    return { broken: `${FIELD}: ${host} is reserved by the installation` };
  if (isGranted(host, listener?.hosts ?? [])) return place;
  const own = {
    host: expandRoutePattern(route.host, { name, namespace }),
    path: expandRoutePattern(route.path, { name, namespace }),
  };
  if (
    host === own.host &&
    (!route.isHostShared || path === own.path || path.startsWith(`${own.path}/`))
  )
    return place;
  const whose =
    listener === undefined
      ? 'those that a listener grants'
      : `the hosts of listener ${listener.name}`;
  return {
    broken:
      host === own.host
        ? `${FIELD}: the path of ${host} must be ${own.path} or below it`
        : `${FIELD}: ${host} is not among ${whose}`,
  };
}
