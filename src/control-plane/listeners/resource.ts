import { Type, type Static } from 'typebox';
import { ListenerSpec, type ListenerResource } from '../../schema/platform/custom-resources.ts';
import { API_VERSION } from '../../schema/platform/api-group.ts';
import { namedTenant } from '../../schema/platform/tenancy.ts';
import { Closed, DateTime, Nullable, StringEnum, Uuid } from '../../schema/types.ts';
import { updatedAt } from '../stored/metadata.ts';

const ComputeConfig = Closed({ k8s_namespaces: ListenerSpec.properties.namespaces });
const Version = Type.Optional(
  Nullable(Type.String({ maxLength: 64, description: 'Accepted for older clients; the platform has one version.' })),
);

const Hosts = Type.Optional(Nullable(ListenerSpec.properties.hosts));

export const ListenerCreateRequest = Closed({
  version: Version,
  compute_type: StringEnum(['k8s']),
  compute_id: ListenerSpec.properties.computeId,
  compute_config: ComputeConfig,
  hosts: Hosts,
});
export type ListenerCreateRequest = Static<typeof ListenerCreateRequest>;

export const ListenerPatchRequest = Closed({ version: Version, compute_config: Type.Optional(Nullable(ComputeConfig)), hosts: Hosts });
export type ListenerPatchRequest = Static<typeof ListenerPatchRequest>;

export const Listener = Closed({
  id: Uuid('Read-only.'),
  created_at: DateTime('Read-only.'),
  updated_at: DateTime('Read-only.'),
  version: Nullable(Type.String()),
  compute_type: StringEnum(['k8s']),
  compute_id: Type.String(),
  compute_config: ComputeConfig,
  hosts: ListenerSpec.properties.hosts,
  tenant_id: Uuid('Read-only.'),
});
export type Listener = Static<typeof Listener>;

/** Returns a stored listener as REST answers it. */
export function listenerAnswer(listener: ListenerResource, defaultTenantId: string): Listener {
  const { metadata, spec } = listener;
  return {
    id: metadata.uid ?? '',
    created_at: metadata.creationTimestamp ?? '',
    updated_at: updatedAt(listener),
    version: null,
    compute_type: 'k8s',
    compute_id: spec.computeId,
    compute_config: { k8s_namespaces: spec.namespaces },
    hosts: spec.hosts ?? [],
    tenant_id: namedTenant(spec, defaultTenantId),
  };
}

export const listenerResource = (
  body: ListenerCreateRequest,
  place: { name: string; namespace: string; tenantId: string; annotations: Record<string, string> },
): ListenerResource => ({
  apiVersion: API_VERSION,
  kind: 'Listener',
  metadata: { name: place.name, namespace: place.namespace, annotations: place.annotations },
  spec: {
    tenantId: place.tenantId,
    computeId: body.compute_id,
    namespaces: body.compute_config.k8s_namespaces,
    ...(body.hosts && { hosts: body.hosts }),
  },
});
