import type { Stored } from '../stored/stored.ts';
import type { ControlPlaneConfig } from '../../config/platform/control-plane.ts';
import { Conflict, Rejected } from '../../errors.ts';
import { resolveRoutePlace } from './route-rules.ts';

/**
 * Throws unless the deployment may have the host and path of its custom URL, where the installation makes routes. The
 * operator decides again, so a request that comes at the same time takes nothing from anybody.
 */
export function checkCustomUrl(
  { config, stored }: { config: ControlPlaneConfig; stored: Stored },
  name: string,
  namespace: string,
  url: string | null | undefined,
): void {
  if (url === null || url === undefined) return;
  const owner = stored.getOwners().get(namespace);
  const listener = owner && { name: owner.metadata.name, hosts: owner.spec.hosts ?? [] };
  const place = resolveRoutePlace(url, { route: config.route, name, namespace, listener });
  if (place === undefined) return;
  if ('broken' in place) throw new Rejected(place.broken);
  const { host, path } = place;
  const isTaken = stored.listDeployments().some(({ metadata, status }) => {
    const isOther = metadata.name !== name || metadata.namespace !== namespace;
    return isOther && status?.route?.path === path && status.route.hosts.includes(host);
  });
  if (isTaken)
    throw new Conflict(
      `source_config.custom_url: another deployment has the host ${host} with the path ${path}`,
    );
}
