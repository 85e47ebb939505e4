import { Type, type Static } from 'typebox';
import {
  ListenerSpec,
  type ListenerResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../schema/platform/objects/api-group.ts';
import { resolveTenantId } from '../../schema/platform/objects/tenant-id.ts';
import {
  buildClosedSchema,
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
} from '../../schema/types.ts';
import { getUpdatedAt } from '../stored/metadata.ts';

const ComputeConfig = buildClosedSchema({ k8s_namespaces: ListenerSpec.properties.namespaces });
const Version = Type.Optional(
  buildNullableSchema(
    Type.String({
      maxLength: 64,
      description: 'Accepted for older clients; the platform has one version.',
    }),
  ),
);

const Hosts = Type.Optional(buildNullableSchema(ListenerSpec.properties.hosts));

export const ListenerCreateRequest = buildClosedSchema({
  version: Version,
  compute_type: buildEnumSchema(['k8s']),
  compute_id: ListenerSpec.properties.computeId,
  compute_config: ComputeConfig,
  hosts: Hosts,
});
export type ListenerCreateRequest = Static<typeof ListenerCreateRequest>;

export const ListenerPatchRequest = buildClosedSchema({
  version: Version,
  compute_config: Type.Optional(buildNullableSchema(ComputeConfig)),
  hosts: Hosts,
});
export type ListenerPatchRequest = Static<typeof ListenerPatchRequest>;

export const Listener = buildClosedSchema({
  id: buildUuidSchema('Read-only.'),
  created_at: buildDateTimeSchema('Read-only.'),
  updated_at: buildDateTimeSchema('Read-only.'),
  version: buildNullableSchema(Type.String()),
  compute_type: buildEnumSchema(['k8s']),
  compute_id: Type.String(),
  compute_config: ComputeConfig,
  hosts: ListenerSpec.properties.hosts,
  tenant_id: buildUuidSchema('Read-only.'),
});
export type Listener = Static<typeof Listener>;

/** Returns a stored listener as REST answers it. */
export function toListenerAnswer(listener: ListenerResource, defaultTenantId: string): Listener {
  const { metadata, spec } = listener;
  return {
    id: metadata.uid ?? '',
    created_at: metadata.creationTimestamp ?? '',
    updated_at: getUpdatedAt(listener),
    version: null,
    compute_type: 'k8s',
    compute_id: spec.computeId,
    compute_config: { k8s_namespaces: spec.namespaces },
    hosts: spec.hosts ?? [],
    tenant_id: resolveTenantId(spec, defaultTenantId),
  };
}

export const toListenerResource = (
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
