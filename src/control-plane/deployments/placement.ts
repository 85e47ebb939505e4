import { Rejected } from '../../errors.ts';
import type { ListenerResource } from '../../schema/platform/resources/custom-resources.ts';
import type { WantedDeployment } from './rules.ts';

export type Placement = { namespace: string; listener: string };

const DEFAULT = 'default';

/**
 * Chooses where a new deployment goes, among the Listeners of its tenant. `served` holds the namespaces of this
 * installation; empty means all.
 */
export function choosePlacement(
  wanted: WantedDeployment,
  listeners: ListenerResource[],
  served: string[],
): Placement {
  const { listener_id: id, listener_config: config } = wanted.source_config;
  const namespace = config?.k8s_namespace ?? undefined;
  const listener = chooseListener(listeners, id ?? undefined, namespace);
  if (listener.spec.namespaces.length === 0)
    throw new Rejected(
      `source_config.listener_id: no namespace of the listener ${listener.metadata.name} has joined its tenant`,
    );
  const target = namespace ?? listener.spec.namespaces[0] ?? '';
  const path = 'source_config.listener_config.k8s_namespace';
  if (!listener.spec.namespaces.includes(target))
    throw new Rejected(
      `${path}: ${target} is not one of the listener's namespaces (${listener.spec.namespaces.join(', ')})`,
    );
  if (served.length > 0 && !served.includes(target))
    throw new Rejected(`${path}: ${target} is not served by this installation`);
  return { namespace: target, listener: listener.metadata.name };
}

function chooseListener(
  listeners: ListenerResource[],
  id: string | undefined,
  namespace: string | undefined,
): ListenerResource {
  if (id !== undefined)
    return requireListener(
      listeners.find(({ metadata }) => metadata.uid === id.toLowerCase()),
      `no listener has the id ${id}`,
    );
  if (namespace !== undefined) {
    const serving = listeners.find(({ spec }) => spec.namespaces.includes(namespace));
    if (serving === undefined)
      throw new Rejected(
        `source_config.listener_config.k8s_namespace: no listener serves ${namespace}`,
      );
    return serving;
  }
  const only = listeners.length === 1 ? listeners[0] : undefined;
  const reason =
    listeners.length === 0
      ? 'there is no listener yet: make one with POST /v2/listeners'
      : "'listener_id' is required: there is more than one listener";
  return requireListener(
    listeners.find(({ metadata }) => metadata.name === DEFAULT) ?? only,
    reason,
  );
}

function requireListener(
  listener: ListenerResource | undefined,
  otherwise: string,
): ListenerResource {
  if (listener === undefined) throw new Rejected(`source_config.listener_id: ${otherwise}`);
  return listener;
}
