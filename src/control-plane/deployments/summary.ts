import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type {
  DeploymentDetails,
  DeploymentSummary,
  Lifecycle,
  RevisionSummary,
} from '../../schema/platform/deployment/deployment-summary.ts';
import { PUSHED_AT } from '../../schema/platform/objects/labels.ts';
import { getDeploymentStatus, isManaged } from './resource.ts';
import { getRevisionStatus } from '../revisions/resource.ts';
import { readDeploymentUsage } from './usage.ts';
import { getUpdatedAt } from '../stored/metadata.ts';
import type { Summarized } from '../stored/overview.ts';
import type { UnmatchedPush } from '../stored/shared-pushes.ts';

/** Returns a deployment as a row of a list. */
export function buildDeploymentSummary({
  id,
  deployment,
  latest,
  active,
  state,
}: Summarized): DeploymentSummary {
  const { metadata, spec, status = {} } = deployment;
  return {
    id,
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    version: findNewestVersion([deployment, latest, active]),
    ...state,
    suspended: spec.suspend === true,
    status: getDeploymentStatus(deployment),
    ...buildSource(deployment, latest),
    image_version: status.serverVersion ?? null,
    url: status.url ?? null,
    latest_revision: buildRevisionSummary(latest),
    active_revision: buildRevisionSummary(active),
    queue: { wanted: status.queueReplicas ?? null, ready: status.queueReady ?? null },
    interrupted_threads: status.interruptedThreads ?? null,
    usage_today: readDeploymentUsage(deployment, new Date()).today,
    asleep_since: status.asleepSince ?? null,
    next_due_at: status.nextDueAt ?? null,
    created_at: metadata.creationTimestamp ?? '',
    updated_at: getUpdatedAt(deployment),
  };
}

/** Returns all that is known of how a deployment is. */
export function buildDeploymentDetails(
  summarized: Summarized,
  unmatched: UnmatchedPush | undefined,
): DeploymentDetails {
  const { spec, status = {} } = summarized.deployment;
  return {
    ...buildDeploymentSummary(summarized),
    conditions: status.conditions ?? [],
    candidate: buildCandidate(summarized),
    lifecycle: buildLifecycle(summarized.deployment),
    database: {
      external: !isManaged(summarized.deployment),
      certificate_until: status.databaseCertificateUntil ?? null,
      storage_gi: spec.template.resourceSpec?.dbStorageGi ?? null,
      storage_class: spec.database?.storageClass ?? null,
    },
    key: { previous_until: status.keyPreviousUntil ?? null },
    branch: buildBranch(summarized.deployment, unmatched),
  };
}

/** Returns the revision that is tried out, with its share: as a rule the newest one. */
function buildCandidate({
  deployment,
  latest,
  active,
}: Summarized): DeploymentDetails['candidate'] {
  const { candidate } = deployment.status?.rollout ?? {};
  if (candidate === undefined) return null;
  const found = [latest, active].find((one) => one?.metadata.name === candidate.revision);
  return {
    revision_id: found?.metadata.uid ?? null,
    share: candidate.share,
    since: candidate.since,
  };
}

/** Returns the branch that a deployment follows, and the last push events that came: its own, and one for nobody. */
function buildBranch(
  { metadata, spec, status }: DeploymentResource,
  unmatched: UnmatchedPush | undefined,
): DeploymentDetails['branch'] {
  if (status?.followedRef === undefined) return null;
  const { integrationId } = spec.sourceConfig ?? {};
  const [commit, at] = metadata.annotations?.[PUSHED_AT]?.split(' ') ?? [];
  return {
    ref: status.followedRef,
    commit: status.followedCommit ?? null,
    push_path: integrationId === undefined ? null : `/v1/integrations/git/${integrationId}/push`,
    pushed:
      commit === undefined || at === undefined || Number.isNaN(Date.parse(at))
        ? null
        : { commit, at },
    unmatched_push: unmatched ?? null,
  };
}

function buildLifecycle({ spec }: DeploymentResource): Lifecycle {
  const { hibernate = null, suspend = null, sleep, queueReplicas = null, budgets = null } = spec;
  return {
    hibernate,
    suspend,
    sleep:
      sleep === undefined
        ? null
        : { after_seconds: sleep.afterSeconds ?? null, database: sleep.database ?? null },
    queue_replicas: queueReplicas,
    budgets,
  };
}

const buildSource = ({ spec }: DeploymentResource, latest: RevisionResource | undefined) => {
  const { imageUri, repoRef = null } = spec.template.sourceRevisionConfig ?? {};
  const { image = imageUri ?? null, commitSha = null } = latest?.status ?? {};
  return {
    source: spec.source,
    image_uri: image,
    repo_url: spec.sourceConfig?.repoUrl ?? null,
    repo_ref: repoRef,
    repo_commit_sha: commitSha,
  };
};

function buildRevisionSummary(revision: RevisionResource | undefined): RevisionSummary | null {
  if (revision === undefined) return null;
  const { metadata, spec, status } = revision;
  return {
    id: metadata.uid ?? '',
    number: spec.number,
    status: getRevisionStatus(revision),
    reason: status?.reason ?? null,
    created_at: metadata.creationTimestamp ?? '',
  };
}

/** Returns the newest version among objects. The API server counts all of its objects by one counter. */
function findNewestVersion(
  objects: readonly (DeploymentResource | RevisionResource | undefined)[],
): string {
  const versions = objects.map((object) => BigInt(object?.metadata.resourceVersion ?? '0'));
  return String(versions.reduce((newest, version) => (version > newest ? version : newest), 0n));
}
