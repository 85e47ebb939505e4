import type { Stored } from '../stored/stored.ts';
import type { ControlPlaneConfig } from '../../config/platform/control-plane.ts';
import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { callKube } from '../kube-refusal.ts';
import {
  type ListenerCreateRequest,
  type ListenerPatchRequest,
  toListenerResource,
} from './resource.ts';
import { buildRequestedBy, buildRequestedByPatch } from '../requested-by.ts';
import { randomBytes } from 'node:crypto';
import { Conflict, NotFound, Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { ListenerResource } from '../../schema/platform/resources/custom-resources.ts';
import { TENANT } from '../../schema/platform/objects/labels.ts';
import { findOverlap, isByPattern } from '../../schema/platform/spec/route-place.ts';
import { resolveTenantId } from '../../schema/platform/objects/tenant-id.ts';

type ListenerDeps = { config: ControlPlaneConfig; stored: Stored };

export const listOwnListeners = (
  { stored, config }: ListenerDeps,
  tenantId: string,
): ListenerResource[] =>
  stored
    .listListeners()
    .filter(({ spec }) => resolveTenantId(spec, config.defaultTenantId) === tenantId);

export async function findListener(
  plane: ListenerDeps,
  id: string,
  { caller, signal }: CallContext,
): Promise<ListenerResource> {
  const listener = await plane.stored.findListener(id.toLowerCase(), signal);
  if (listener === undefined || !listOwnListeners(plane, caller.tenantId).includes(listener))
    throw new NotFound(`Listener ID ${id} not found.`);
  return listener;
}

/**
 * Creates a listener for namespaces that no other listener has. Of two requests at once, in any replica, one gets 409.
 */
export async function createListener(
  plane: ControlPlane,
  body: ListenerCreateRequest,
  { caller }: CallContext,
): Promise<ListenerResource> {
  const name = `listener-${randomBytes(5).toString('hex')}`;
  const { namespace } = plane.config;
  const resource = toListenerResource(body, {
    name,
    namespace,
    tenantId: caller.tenantId,
    annotations: buildRequestedBy(caller),
  });
  return plane.listenerLock.run(async (signal) => {
    await plane.stored.readListeners(signal);
    if (
      listOwnListeners(plane, caller.tenantId).some(
        ({ spec }) => spec.computeId === body.compute_id,
      )
    )
      throw new Conflict(
        `Listener for tenant ID '${caller.tenantId}' and compute ID '${body.compute_id}' already exists.`,
      );
    await checkNamespaces(plane, body.compute_config.k8s_namespaces, {
      tenantId: caller.tenantId,
      own: undefined,
      signal,
    });
    checkHosts(plane, body.hosts ?? [], { tenantId: caller.tenantId, own: undefined });
    return plane.stored.note.listener(
      await callKube(() => plane.kube.create(kinds.listener, resource, {}, signal)),
    );
  });
}

export async function patchListener(
  plane: ControlPlane,
  id: string,
  { body, ...call }: CallContext & { body: ListenerPatchRequest },
): Promise<ListenerResource> {
  const listener = await findListener(plane, id, call);
  const { hosts } = body;
  const namespaces = body.compute_config?.k8s_namespaces;
  if (namespaces === undefined && hosts === undefined) return listener;
  const { namespace, name, uid } = listener.metadata;
  const guard = { op: 'test', path: '/metadata/uid', value: uid } as const;
  return plane.listenerLock.run(async (signal) => {
    await plane.stored.readListeners(signal);
    if (namespaces !== undefined)
      await checkChange(plane, namespaces, {
        tenantId: call.caller.tenantId,
        own: listener,
        signal,
      });
    checkHosts(plane, hosts ?? [], { tenantId: call.caller.tenantId, own: listener });
    const changes = [
      ...(namespaces === undefined
        ? []
        : [{ op: 'replace', path: '/spec/namespaces', value: namespaces } as const]),
      // `add` also replaces.
      ...(hosts === undefined
        ? []
        : [{ op: 'add', path: '/spec/hosts', value: hosts ?? [] } as const]),
    ];
    const patch = [guard, ...changes, ...buildRequestedByPatch(listener.metadata, call.caller)];
    return plane.stored.note.listener(
      await callKube(() =>
        plane.kube.patchJson(kinds.listener, { namespace, name }, patch, {}, signal),
      ),
    );
  });
}

/** Throws unless a listener may have these namespaces instead of its own. */
async function checkChange(
  plane: ControlPlane,
  namespaces: string[],
  claim: Claim & { own: ListenerResource },
): Promise<void> {
  await checkNamespaces(plane, namespaces, claim);
  const dropped = listPlacedDeployments(plane, claim.own).find(
    ({ metadata }) => !namespaces.includes(metadata.namespace ?? ''),
  );
  if (dropped !== undefined)
    throw new Rejected(
      `compute_config.k8s_namespaces: ${dropped.metadata.namespace} still holds the deployment ${dropped.metadata.name}`,
    );
}

/**
 * Throws if a host may be that of others: of the platform itself, of a listener of another tenant, or of any deployment
 * by the pattern of the installation. Hosts that the listener names already stay.
 */
function checkHosts(
  { stored, config }: ListenerDeps,
  hosts: readonly string[],
  { tenantId, own }: { tenantId: string; own: ListenerResource | undefined },
): void {
  const added = hosts.filter((host) => own?.spec.hosts?.includes(host) !== true);
  const { route } = config;
  const reserved = added.find(
    (host) => findOverlap(host, route?.reservedHosts ?? []) !== undefined,
  );
  if (reserved !== undefined)
    throw new Rejected(
      `hosts: ${reserved} is, or covers, a host that is reserved by the installation`,
    );
  const given = route && added.find((host) => isByPattern(host, route.host));
  if (given !== undefined)
    throw new Rejected(
      `hosts: ${given} may be the host of a deployment by the pattern ${route?.host}`,
    );
  const others = stored
    .listListeners()
    .filter(({ spec }) => resolveTenantId(spec, config.defaultTenantId) !== tenantId);
  const granted = others.flatMap(({ spec }) => spec.hosts ?? []);
  const taken = added.find((host) => findOverlap(host, granted) !== undefined);
  if (taken !== undefined)
    throw new Conflict(`hosts: ${taken} belongs to a listener of another tenant`);
}

export async function removeListener(
  plane: Omit<ControlPlane, 'listenerLock'>,
  id: string,
  call: CallContext,
): Promise<void> {
  const listener = await findListener(plane, id, call);
  const held = listPlacedDeployments(plane, listener)[0];
  if (held !== undefined)
    throw new Conflict(`The listener still holds the deployment ${held.metadata.name}.`);
  const { namespace, name, uid = '' } = listener.metadata;
  await plane.kube.delete(kinds.listener, { namespace, name }, { uid });
  await plane.stored.refresh.listener(listener, call.signal);
}

const listPlacedDeployments = ({ stored }: { stored: Stored }, listener: ListenerResource) => {
  const owners = stored.getOwners();
  return stored
    .listDeployments()
    .filter(
      ({ metadata }) =>
        owners.get(metadata.namespace ?? '')?.metadata.uid === listener.metadata.uid,
    );
};

type Claim = { tenantId: string; own: ListenerResource | undefined; signal: AbortSignal };

/**
 * Throws unless the installation serves each namespace, its owner has given it to the tenant, no other Listener has it,
 * and it holds nothing that was made for another tenant. Namespaces that the Listener names already stay.
 */
async function checkNamespaces(
  { stored, config }: ListenerDeps,
  namespaces: string[],
  { tenantId, own, signal }: Claim,
): Promise<void> {
  const path = 'compute_config.k8s_namespaces';
  if (new Set(namespaces).size !== namespaces.length)
    throw new Rejected(`${path}: a namespace is given twice`);
  const unserved =
    config.namespaces.length === 0
      ? undefined
      : namespaces.find((namespace) => !config.namespaces.includes(namespace));
  if (unserved !== undefined)
    throw new Rejected(`${path}: ${unserved} is not served by this installation`);
  const claimed = namespaces.filter(
    (namespace) => own?.spec.namespaces.includes(namespace) !== true,
  );
  await stored.readNamespaces(claimed, signal);
  // A namespace that does not exist gets the same answer, so that nobody learns which ones do.
  const stranger = claimed.find((namespace) => stored.joined(namespace) !== tenantId);
  if (stranger !== undefined)
    throw new Rejected(
      `${path}: ${stranger} has not joined this tenant: its owner sets the label ${TENANT}=${tenantId} on it`,
    );
  const owners = stored.getOwners();
  const taken = claimed.find((namespace) => owners.has(namespace));
  if (taken !== undefined) throw new Conflict(`${path}: ${taken} belongs to another listener`);
  await stored.readDeployments(signal);
  const foreign = stored.listDeployments().find(({ metadata: { namespace = '', labels } }) => {
    return (
      claimed.includes(namespace) && (labels?.[TENANT]?.toLowerCase() ?? tenantId) !== tenantId
    );
  });
  if (foreign !== undefined)
    throw new Conflict(
      `${path}: ${foreign.metadata.namespace} holds deployments of another tenant`,
    );
}
