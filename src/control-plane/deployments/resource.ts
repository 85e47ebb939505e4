import {
  API_VERSION,
  type DeploymentResource,
  type DeploymentSpec,
  type ListenerResource,
  type RevisionResource,
} from '../../schema/custom-resources.ts';
import {
  SourceConfig,
  SourceRevisionConfig,
  type Deployment,
  type DeploymentCreateRequest,
  type DeploymentStatus,
  type Secret,
} from '../../schema/deployment.ts';
import { FINALIZER, PART_OF, TENANT } from '../../schema/labels.ts';
import { ResourceSpec } from '../../schema/resource-spec.ts';
import { toResourceForm, toRestForm } from '../../schema/types.ts';
import type { Wanted } from './rules.ts';

type Template = DeploymentSpec['template'];

/** REST's fields as a custom resource holds them; nulls, which it has not, fall away at every depth. */
const inResource = <T extends object>(record: T | null | undefined) => toResourceForm(withoutNulls(record ?? {}) as T);

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined);
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutNulls(inner)]));
}

const absentIfEmpty = <K extends string, V extends object>(key: K, value: V): { [P in K]?: V } =>
  (Object.keys(value).length > 0 ? { [key]: value } : {}) as { [P in K]?: V };

/** What a request asks for, beside what stands in its body. */
export type Ask = { listener?: string | undefined; secretName?: string | undefined; requestedAt?: string | undefined };

/** The part of `Deployment.spec` that REST writes. */
export function toSpec(wanted: Wanted, ask: Ask): Pick<DeploymentSpec, 'source' | 'sourceConfig' | 'template' | 'requestedAt'> {
  const { resource_spec: sizes, listener_id: _id, listener_config: _placement, ...config } = wanted.source_config;
  const template: Template = {
    ...absentIfEmpty('sourceRevisionConfig', inResource(wanted.source_revision_config)),
    ...(ask.secretName !== undefined && { secretName: ask.secretName }),
    ...(sizes !== null && sizes !== undefined && { resourceSpec: inResource(sizes) }),
  };
  const sourceConfig = { ...inResource(config), ...(ask.listener !== undefined && { listener: ask.listener }) };
  return {
    source: wanted.source,
    ...absentIfEmpty('sourceConfig', sourceConfig),
    template,
    ...(ask.requestedAt !== undefined && { requestedAt: ask.requestedAt }),
  };
}

/** A create request as the resource that is stored for it. */
export function toResource(
  body: DeploymentCreateRequest,
  place: { namespace: string; tenantId: string; annotations?: Record<string, string> },
  ask: Ask,
): DeploymentResource {
  return {
    apiVersion: API_VERSION,
    kind: 'Deployment',
    metadata: {
      name: body.name,
      namespace: place.namespace,
      labels: { [TENANT]: place.tenantId, [PART_OF]: 'gx-platform' },
      // The operator's, which would otherwise begin with a write of its own.
      finalizers: [FINALIZER],
      ...(place.annotations && { annotations: place.annotations }),
    },
    spec: toSpec(body, ask),
  };
}

/** The stored fields as REST words them, before the server fills anything in: what a patch is merged into. */
export function toWanted({ spec }: DeploymentResource): Wanted {
  return {
    source: spec.source,
    source_config: {
      ...toRestForm(SourceConfig, spec.sourceConfig),
      resource_spec: spec.template.resourceSpec ? toRestForm(ResourceSpec, spec.template.resourceSpec) : null,
    },
    source_revision_config: toRestForm(SourceRevisionConfig, spec.template.sourceRevisionConfig),
  };
}

/** As all ids are compared: in small letters, however it was written. */
export const deploymentId = ({ spec, metadata }: DeploymentResource): string => (spec.id ?? metadata.uid ?? '').toLowerCase();

/** What an answer needs beside the deployment itself. */
export type Around = {
  tenantId: string;
  listener?: ListenerResource | undefined;
  latest?: RevisionResource | undefined;
  active?: RevisionResource | undefined;
  secrets: Secret[];
};

/** A stored deployment as REST answers it. */
export function toAnswer(deployment: DeploymentResource, around: Around): Deployment {
  const { metadata, spec } = deployment;
  const wanted = toWanted(deployment);
  const { url, version } = running(deployment);
  return {
    id: deploymentId(deployment),
    name: metadata.name,
    source: spec.source,
    source_config: {
      ...wanted.source_config,
      custom_url: spec.sourceConfig?.customUrl ?? url,
      ...placeShown(deployment, around.listener),
    },
    source_revision_config: { ...wanted.source_revision_config, repo_commit_sha: around.latest?.status?.commitSha ?? null },
    secrets: around.secrets,
    created_at: metadata.creationTimestamp ?? '',
    updated_at: updatedAt(deployment),
    status: statusOf(deployment),
    latest_revision_id: around.latest?.metadata.uid ?? null,
    active_revision_id: around.active?.metadata.uid ?? null,
    image_version: version,
    tenant_id: around.tenantId,
    url,
  };
}

const running = ({ status }: DeploymentResource) => ({ url: status?.url ?? null, version: status?.serverVersion ?? null });

/** Where it runs; REST tells it of container deployments only. */
function placeShown({ metadata, spec }: DeploymentResource, listener: ListenerResource | undefined) {
  if (spec.source !== 'external_container') return { listener_id: null, listener_config: null };
  return { listener_id: listener?.metadata.uid ?? null, listener_config: { k8s_namespace: metadata.namespace ?? null } };
}

export function statusOf({ metadata, status }: DeploymentResource): DeploymentStatus {
  if (metadata.deletionTimestamp !== undefined) return 'AWAITING_DELETE';
  return status?.phase ?? 'AWAITING_DATABASE';
}

type Written = { metadata: { creationTimestamp?: string; managedFields?: { time?: string }[] }; status?: object | undefined };

/** The latest of: creation, any field's last write (status included), a condition's last flip. */
export function updatedAt(resource: object): string {
  const { metadata, status } = resource as Written;
  const { conditions = [] } = (status ?? {}) as { conditions?: { lastTransitionTime: string }[] };
  const times = [
    metadata.creationTimestamp,
    ...(metadata.managedFields ?? []).map((entry) => entry.time),
    ...conditions.map((entry) => entry.lastTransitionTime),
  ].filter((time) => time !== undefined);
  return times.toSorted().at(-1) ?? '';
}
