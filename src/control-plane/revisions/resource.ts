import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import { SourceRevisionConfig } from '../../schema/platform/deployment/deployment.ts';
import { INTERRUPT } from '../../schema/platform/objects/labels.ts';
import { ENDED, type RevisionStatus } from '../../schema/platform/deployment/statuses.ts';
import type { Revision } from '../../schema/platform/deployment/revision.ts';
import { computeRevisionOrder } from '../../schema/platform/resources/revision-of.ts';
import { toRestForm } from '../../schema/types.ts';
import { getUpdatedAt } from '../stored/metadata.ts';

/** The objects that an answer needs besides the revision itself. */
export type RelatedToRevision = {
  deploymentId: string;
  /** Place in the order of the revision that serves by the deployment's status. 0: none yet; Infinity: it is gone. */
  serving: number;
};

/** Returns a stored revision as REST answers it. */
export function toRevisionAnswer(
  revision: RevisionResource,
  { deploymentId, serving }: RelatedToRevision,
): Revision {
  const { metadata, spec, status } = revision;
  const shown = isAhead(revision, serving)
    ? SWITCHING
    : { status: getRevisionStatus(revision), status_message: status?.message ?? null };
  return {
    id: metadata.uid ?? '',
    deployment_id: deploymentId,
    number: spec.number,
    created_at: metadata.creationTimestamp ?? '',
    updated_at: getUpdatedAt(revision),
    ...shown,
    source: spec.source,
    source_revision_config: toConfig(revision),
    reason: status?.reason ?? null,
    log_tail: status?.logTail ?? null,
    ...pickBuiltFields(revision),
  };
}

const pickBuiltFields = ({ status = {} }: RevisionResource) => ({
  image_digest: status.imageDigest ?? null,
  build_seconds: status.buildSeconds ?? null,
  builder_version: status.builderVersion ?? null,
});

const SWITCHING = {
  status: 'DEPLOYING',
  status_message: 'All pods are ready; traffic is being switched.',
} as const;

/**
 * Returns true while the revision's status is ahead of its deployment's. DEPLOYED is the last step of a rollout: a
 * client that reads it finds this revision active, and its URL and version in the deployment. Revision and deployment
 * are written one after the other and arrive by two watches.
 */
const isAhead = (revision: RevisionResource, serving: number): boolean =>
  getRevisionStatus(revision) === 'DEPLOYED' && computeRevisionOrder(revision) > serving;

/** Returns the revision's config with later results: a git revision's commit and the image built for it. */
function toConfig({ spec, status = {} }: RevisionResource): Revision['source_revision_config'] {
  const given = toRestForm(SourceRevisionConfig, spec.template.sourceRevisionConfig);
  const built = spec.source === 'git' ? { image_uri: status.image ?? null } : {};
  return { ...given, ...built, repo_commit_sha: status.commitSha ?? null };
}

export const getRevisionStatus = ({ status }: RevisionResource): RevisionStatus =>
  status?.phase ?? 'CREATING';

export const hasEnded = (revision: RevisionResource): boolean =>
  ENDED.includes(getRevisionStatus(revision));

export const isInterrupted = ({ metadata }: RevisionResource): boolean =>
  metadata.annotations?.[INTERRUPT] !== undefined;
