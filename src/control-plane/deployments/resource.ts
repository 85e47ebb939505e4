import {
  type DeploymentResource,
  type DeploymentSpec,
  type ListenerResource,
  type RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../schema/platform/objects/api-group.ts';
import type { DeploymentStatus } from '../../schema/platform/deployment/statuses.ts';
import {
  SourceConfig,
  SourceRevisionConfig,
  type Deployment,
  type DeploymentCreateRequest,
  type Secret,
} from '../../schema/platform/deployment/deployment.ts';
import { RESTORED, ROUTED } from '../../schema/platform/objects/conditions.ts';
import { toBackupSpec, backupShown } from '../../schema/platform/backup/backup-asked.ts';
import { CUSTOM_URI, type DatabaseSpec } from '../../schema/platform/spec/database-spec.ts';
import { FINALIZER, PART_OF, TENANT } from '../../schema/platform/objects/labels.ts';
import { ResourceSpec } from '../../schema/platform/spec/resource-spec.ts';
import {
  toRolloutSpec,
  toRolloutConfig,
  type CandidateRevision,
} from '../../schema/platform/rollout/rollout-spec.ts';
import { type CloneRequest, toRestoreSpec } from '../../schema/platform/backup/restore-asked.ts';
import { toResourceForm, toRestForm } from '../../schema/types.ts';
import type { WantedDeployment } from './rules.ts';
import { getUpdatedAt } from '../stored/metadata.ts';
import { stripNulls } from '../../schema/json.ts';

/** Returns REST's fields as a custom resource holds them. Nulls are dropped at every depth, because it has none. */
const toResource = <T extends object>(record: T | null | undefined) =>
  toResourceForm(stripNulls(record ?? {}) as T);

const buildOptionalField = <K extends string, V extends object>(
  key: K,
  value: V,
): { [P in K]?: V } => (Object.keys(value).length > 0 ? { [key]: value } : {}) as { [P in K]?: V };

/** Fields that the server adds to those of a request's body. */
export type FromServer = {
  listener?: string | undefined;
  secretName?: string | undefined;
  requestedAt?: string | undefined;
  clone?: CloneRequest | undefined;
};

/** Returns the part of `Deployment.spec` that REST writes. */
export function toSpec(wanted: WantedDeployment, given: FromServer): DeploymentSpec {
  const {
    resource_spec: sizes,
    listener_id: _id,
    listener_config: _listener,
    ...others
  } = wanted.source_config;
  const {
    database_backup: _backup,
    database_placement: _place,
    storage_class: _class,
    rollout,
    ...config
  } = others;
  const template: DeploymentSpec['template'] = {
    ...buildOptionalField('sourceRevisionConfig', toResource(wanted.source_revision_config)),
    ...(given.secretName !== undefined && { secretName: given.secretName }),
    ...(sizes !== null && sizes !== undefined && { resourceSpec: toResource(sizes) }),
  };
  const sourceConfig = {
    ...toResource(config),
    ...(given.listener !== undefined && { listener: given.listener }),
  };
  return {
    source: wanted.source,
    ...buildOptionalField('sourceConfig', sourceConfig),
    template,
    ...buildOptionalField('rollout', toRolloutSpec(rollout ?? {})),
    ...(given.requestedAt !== undefined && { requestedAt: given.requestedAt }),
  };
}

/** Returns the part of `Deployment.spec.database` that REST's fields make. */
export function toDatabaseSpec({ source_config: config }: WantedDeployment): DatabaseSpec {
  const backup = toBackupSpec(config.database_backup ?? {});
  return {
    ...(backup && { backup }),
    ...buildOptionalField('placement', toResource(config.database_placement) as object),
    ...(typeof config.storage_class === 'string' && { storageClass: config.storage_class }),
  };
}

/** Returns true for secrets that name a database of the user's own. An empty value counts as unset. */
export const hasDatabaseSecret = (secrets: readonly Secret[]): boolean =>
  secrets.some(({ name, value }) => name === CUSTOM_URI && value !== '');

/** Returns true for a deployment whose database the platform runs. */
export const isManaged = ({ spec: { database } }: DeploymentResource): boolean =>
  database?.external === undefined && database?.fromSecrets !== true;

/** Returns the resource that is stored for a create request. */
export function toDeploymentResource(
  body: DeploymentCreateRequest,
  place: { namespace: string; tenantId: string; annotations?: Record<string, string> },
  given: FromServer,
): DeploymentResource {
  const { restore, clone_of: original } = body.database ?? {};
  // A dry run asks for no backup, and shows the deployment without its request.
  const clone =
    given.clone ?? (typeof original === 'string' ? { deployment: original } : undefined);
  const database = {
    ...toDatabaseSpec(body),
    ...(hasDatabaseSecret(body.secrets) && { fromSecrets: true }),
    ...((restore ?? clone) && { restore: toRestoreSpec(restore ?? {}, clone) }),
  };
  return {
    apiVersion: API_VERSION,
    kind: 'Deployment',
    metadata: {
      name: body.name,
      namespace: place.namespace,
      labels: { [TENANT]: place.tenantId, [PART_OF]: 'gx-platform' },
      // The finalizer is the operator's. Setting it here saves the operator a write.
      finalizers: [FINALIZER],
      ...(place.annotations && { annotations: place.annotations }),
    },
    spec: { ...toSpec(body, given), ...buildOptionalField('database', database) },
  };
}

/**
 * Returns the stored fields in REST's words, without the fields that the server fills in. A patch is merged into them.
 */
export function toWanted({ spec }: DeploymentResource): WantedDeployment {
  return {
    source: spec.source,
    source_config: {
      ...toRestForm(SourceConfig, spec.sourceConfig),
      database_backup: spec.database?.backup ? backupShown(spec.database.backup) : null,
      database_placement: spec.database?.placement ?? null,
      storage_class: spec.database?.storageClass ?? null,
      rollout: spec.rollout ? toRolloutConfig(spec.rollout) : null,
      resource_spec: spec.template.resourceSpec
        ? toRestForm(ResourceSpec, spec.template.resourceSpec)
        : null,
    },
    source_revision_config: toRestForm(SourceRevisionConfig, spec.template.sourceRevisionConfig),
  };
}

/** The objects that an answer needs besides the deployment itself. */
export type RelatedToDeployment = {
  id: string;
  tenantId: string;
  listener?: ListenerResource | undefined;
  latest?: RevisionResource | undefined;
  active?: RevisionResource | undefined;
  /** All its revisions, where they are known. */
  revisions?: readonly RevisionResource[];
  secrets: Secret[];
};

/** Returns a stored deployment as REST answers it. */
export function toDeploymentAnswer(
  deployment: DeploymentResource,
  related: RelatedToDeployment,
): Deployment {
  const { metadata, spec } = deployment;
  const wanted = toWanted(deployment);
  const { url, version } = pickRunning(deployment);
  return {
    id: related.id,
    name: metadata.name,
    source: spec.source,
    source_config: {
      ...wanted.source_config,
      custom_url: spec.sourceConfig?.customUrl ?? url,
      ...toPlace(deployment, related.listener),
    },
    source_revision_config: {
      ...wanted.source_revision_config,
      ...pickBuilt(deployment, related.latest),
    },
    secrets: related.secrets,
    created_at: metadata.creationTimestamp ?? '',
    updated_at: getUpdatedAt(deployment),
    status: getDeploymentStatus(deployment),
    latest_revision_id: related.latest?.metadata.uid ?? null,
    active_revision_id: related.active?.metadata.uid ?? null,
    image_version: version,
    tenant_id: related.tenantId,
    url,
    route: toRoute(deployment),
    rollout: toRollout(deployment, related.revisions ?? []),
    restore: restoreShown(deployment),
  };
}

/** Returns the revisions that have work although another one serves. */
function toRollout(
  { status }: DeploymentResource,
  revisions: readonly RevisionResource[],
): Deployment['rollout'] {
  if (status?.rollout === undefined) return null;
  const findId = (name: string): string | null =>
    revisions.find(({ metadata }) => metadata.name === name)?.metadata.uid ?? null;
  const draining = status.rollout.draining.map(
    ({ revision, since, runs = null, threads = null }) => ({
      revision_id: findId(revision),
      since,
      runs,
      threads,
    }),
  );
  const { candidate, aborted } = status.rollout;
  return {
    candidate: candidate ? toCandidate(candidate, findId(candidate.revision)) : null,
    aborted: aborted
      ? { revision_id: findId(aborted.revision), since: aborted.since, message: aborted.message }
      : null,
    draining,
  };
}

function toCandidate(
  { step, share, by, since, gate, verdict }: CandidateRevision,
  id: string | null,
) {
  const atGate = gate && (gate.passed === true ? ('Passed' as const) : ('Running' as const));
  return {
    revision_id: id,
    step,
    share,
    by,
    since,
    gate: atGate ?? null,
    verdict: verdict ?? null,
  };
}

const NOT_BEGUN = {
  status: 'Unknown',
  reason: 'Restoring',
  message: 'The restore has not begun.',
} as const;

function restoreShown({ spec, status }: DeploymentResource): Deployment['restore'] {
  if (spec.database?.restore === undefined) return null;
  const {
    conditions = [],
    restoredBackup: backup = null,
    restoredFrom: from = null,
  } = status ?? {};
  const found = conditions.find(({ type }) => type === RESTORED) ?? NOT_BEGUN;
  return {
    status: found.status,
    reason: found.reason,
    message: found.message,
    backup,
    from,
    former_volumes: status?.formerVolumes ?? [],
  };
}

function toRoute({ status }: DeploymentResource): Deployment['route'] {
  const routed = status?.conditions?.find(({ type }) => type === ROUTED);
  if (routed === undefined) return null;
  const { hosts = [], path = null } = status?.route ?? {};
  return { hosts, path, status: routed.status, reason: routed.reason, message: routed.message };
}

/** Returns the commit and image of the newest revision. REST shows the image of a deployment from git so. */
const pickBuilt = ({ spec }: DeploymentResource, latest: RevisionResource | undefined) => ({
  ...(spec.source === 'git' && { image_uri: latest?.status?.image ?? null }),
  repo_commit_sha: latest?.status?.commitSha ?? null,
});

const pickRunning = ({ status }: DeploymentResource) => ({
  url: status?.url ?? null,
  version: status?.serverVersion ?? null,
});

/** Returns where it runs. REST shows this for container deployments only. */
function toPlace({ metadata, spec }: DeploymentResource, listener: ListenerResource | undefined) {
  if (spec.source !== 'external_container') return { listener_id: null, listener_config: null };
  return {
    listener_id: listener?.metadata.uid ?? null,
    listener_config: { k8s_namespace: metadata.namespace ?? null },
  };
}

export function getDeploymentStatus({ metadata, status }: DeploymentResource): DeploymentStatus {
  if (metadata.deletionTimestamp !== undefined) return 'AWAITING_DELETE';
  return status?.phase ?? 'AWAITING_DATABASE';
}
