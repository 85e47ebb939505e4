import type { ListenerResource } from '../../schema/platform/resources/custom-resources.ts';
import { TENANT } from '../../schema/platform/objects/labels.ts';
import {
  type JoinedTenant,
  chooseNamespaceOwners,
} from '../../schema/platform/resources/tenancy.ts';
import { resolveTenantId } from '../../schema/platform/objects/tenant-id.ts';
import { buildSettledOutcome, buildStalledOutcome, type Report } from '../kernel/outcome.ts';

/** How many namespaces a message names at most. */
const NAMED = 10;

/**
 * Reports whether a Listener has every namespace that it names. It has those that joined its tenant; of two Listeners,
 * the older one keeps the namespaces that it named first.
 */
export function buildListenerReport(
  listener: ListenerResource,
  world: { all: readonly ListenerResource[]; joined: JoinedTenant; defaultTenantId: string },
): Report<NonNullable<ListenerResource['status']>> {
  const { all, joined, defaultTenantId } = world;
  const tenant = resolveTenantId(listener.spec, defaultTenantId);
  const owners = chooseNamespaceOwners(all, joined, defaultTenantId);
  const strange = listener.spec.namespaces.filter((namespace) => joined(namespace) !== tenant);
  const lost = listener.spec.namespaces.flatMap((namespace) => {
    const owner = owners.get(namespace);
    const isLost =
      !strange.includes(namespace) &&
      owner !== undefined &&
      owner.metadata.uid !== listener.metadata.uid;
    return isLost ? [`${namespace} belongs to the listener ${owner.metadata.name}`] : [];
  });
  const notJoined = `Not of this tenant: ${strange.slice(0, NAMED).join(', ')}. The owner of a namespace sets the label ${TENANT}=${tenant} on it.`;
  const outcome =
    strange.length > 0
      ? buildStalledOutcome('NamespaceNotJoined', notJoined)
      : lost.length > 0
        ? buildStalledOutcome('NamespaceTaken', `${lost.slice(0, NAMED).join('; ')}.`)
        : buildSettledOutcome('The listener has every namespace that it names.');
  return { outcome, status: {}, statements: [] };
}
