import type { ListenerResource } from '../../schema/custom-resources.ts';
import { ownersOf } from '../../schema/tenancy.ts';
import { settled, stalled, type Report } from '../kernel/outcome.ts';

/** Reports whether a Listener has every namespace that it names. An older Listener keeps what it named first. */
export function listenerReport(
  listener: ListenerResource,
  all: readonly ListenerResource[],
): Report<NonNullable<ListenerResource['status']>> {
  const owners = ownersOf(all);
  const lost = listener.spec.namespaces.flatMap((namespace) => {
    const owner = owners.get(namespace);
    return owner === undefined || owner.metadata.uid === listener.metadata.uid
      ? []
      : [`${namespace} belongs to the listener ${owner.metadata.name}`];
  });
  const outcome =
    lost.length === 0
      ? settled('The listener has every namespace that it names.')
      : stalled('NamespaceTaken', `${lost.slice(0, 10).join('; ')}.`);
  return { outcome, status: {}, statements: [] };
}
