import { randomBytes } from 'node:crypto';
import { Conflict, NotFound, Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kube.ts';
import type { ListenerResource } from '../../schema/custom-resources.ts';
import { namedTenant } from '../../schema/tenancy.ts';
import type { Asking } from '../deployments/find.ts';
import { refusing } from '../kube-refusal.ts';
import type { Needs } from '../needs.ts';
import { alone } from './alone.ts';
import { toResource, type ListenerCreateRequest, type ListenerPatchRequest } from './resource.ts';

export const ownListeners = ({ stored, config }: Needs, tenantId: string): ListenerResource[] =>
  stored.listeners().filter(({ spec }) => namedTenant(spec, config.defaultTenantId) === tenantId);

export async function findListener(needs: Needs, id: string, { caller, signal }: Asking): Promise<ListenerResource> {
  const listener = await needs.stored.listener(id.toLowerCase(), signal);
  if (listener === undefined || !ownListeners(needs, caller.tenantId).includes(listener))
    throw new NotFound(`Listener ID ${id} not found.`);
  return listener;
}

/** Takes namespaces that no other listener has. Of two at once, in whatever replica, one is told 409. */
export async function createListener(needs: Needs, body: ListenerCreateRequest, { caller }: Asking): Promise<ListenerResource> {
  const name = `listener-${randomBytes(5).toString('hex')}`;
  const resource = toResource(body, { name, namespace: needs.config.namespace, tenantId: caller.tenantId });
  return alone(needs, async (signal) => {
    await needs.stored.readListeners(signal);
    if (ownListeners(needs, caller.tenantId).some(({ spec }) => spec.computeId === body.compute_id))
      throw new Conflict(`Listener for tenant ID '${caller.tenantId}' and compute ID '${body.compute_id}' already exists.`);
    checkNamespaces(needs, body.compute_config.k8s_namespaces, undefined);
    return needs.stored.note.listener(await refusing(() => needs.kube.create(kinds.listener, resource, {}, signal)));
  });
}

export async function patchListener(
  needs: Needs,
  id: string,
  { body, ...asking }: Asking & { body: ListenerPatchRequest },
): Promise<ListenerResource> {
  const listener = await findListener(needs, id, asking);
  const namespaces = body.compute_config?.k8s_namespaces;
  if (namespaces === undefined) return listener;
  const { namespace, name, uid } = listener.metadata;
  const guard = { op: 'test', path: '/metadata/uid', value: uid } as const;
  const change = { op: 'replace', path: '/spec/namespaces', value: namespaces } as const;
  return alone(needs, async (signal) => {
    await needs.stored.readListeners(signal);
    checkNamespaces(needs, namespaces, listener);
    const dropped = placedBy(needs, listener).find(({ metadata }) => !namespaces.includes(metadata.namespace ?? ''));
    if (dropped !== undefined)
      throw new Rejected(
        `compute_config.k8s_namespaces: ${dropped.metadata.namespace} still holds the deployment ${dropped.metadata.name}`,
      );
    return needs.stored.note.listener(
      await refusing(() => needs.kube.jsonPatch(kinds.listener, { namespace, name }, [guard, change], {}, signal)),
    );
  });
}

export async function removeListener(needs: Needs, id: string, asking: Asking): Promise<void> {
  const listener = await findListener(needs, id, asking);
  const held = placedBy(needs, listener)[0];
  if (held !== undefined) throw new Conflict(`The listener still holds the deployment ${held.metadata.name}.`);
  const { namespace, name, uid = '' } = listener.metadata;
  await needs.kube.delete(kinds.listener, { namespace, name }, { uid });
  await needs.stored.refresh.listener(listener, asking.signal);
}

const placedBy = ({ stored }: Needs, listener: ListenerResource) => {
  const owners = stored.owners();
  return stored.deployments().filter(({ metadata }) => owners.get(metadata.namespace ?? '')?.metadata.uid === listener.metadata.uid);
};

/** A namespace belongs to exactly one listener, and must be one that this installation serves. */
function checkNamespaces({ stored, config }: Needs, namespaces: string[], own: ListenerResource | undefined): void {
  const path = 'compute_config.k8s_namespaces';
  if (new Set(namespaces).size !== namespaces.length) throw new Rejected(`${path}: a namespace is given twice`);
  const unserved = config.namespaces.length === 0 ? undefined : namespaces.find((namespace) => !config.namespaces.includes(namespace));
  if (unserved !== undefined) throw new Rejected(`${path}: ${unserved} is not served by this installation`);
  const others = stored.listeners().filter(({ metadata }) => metadata.uid !== own?.metadata.uid);
  const taken = namespaces.find((namespace) => others.some(({ spec }) => spec.namespaces.includes(namespace)));
  if (taken !== undefined) throw new Conflict(`${path}: ${taken} belongs to another listener`);
}
