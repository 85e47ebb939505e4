import type { RevisionResource } from '../../schema/custom-resources.ts';
import { SourceRevisionConfig } from '../../schema/deployment.ts';
import { INTERRUPT } from '../../schema/labels.ts';
import { ENDED, type Revision, type RevisionStatus } from '../../schema/revision.ts';
import { toRestForm } from '../../schema/types.ts';
import { updatedAt } from '../deployments/resource.ts';

/** A stored revision as REST answers it. */
export function toAnswer(revision: RevisionResource, deploymentId: string): Revision {
  const { metadata, spec, status } = revision;
  return {
    id: metadata.uid ?? '',
    deployment_id: deploymentId,
    created_at: metadata.creationTimestamp ?? '',
    updated_at: updatedAt(revision),
    status: statusOf(revision),
    source: spec.source,
    source_revision_config: configOf(revision),
    reason: status?.reason ?? null,
    status_message: status?.message ?? null,
    log_tail: status?.logTail ?? null,
  };
}

/** With what was found out since: of a git revision the commit, and the image that was built for it. */
function configOf({ spec, status = {} }: RevisionResource): Revision['source_revision_config'] {
  const given = toRestForm(SourceRevisionConfig, spec.template.sourceRevisionConfig);
  const built = spec.source === 'git' ? { image_uri: status.image ?? null } : {};
  return { ...given, ...built, repo_commit_sha: status.commitSha ?? null };
}

export const statusOf = ({ status }: RevisionResource): RevisionStatus => status?.phase ?? 'CREATING';

export const hasEnded = (revision: RevisionResource): boolean => ENDED.includes(statusOf(revision));

export const isInterrupted = ({ metadata }: RevisionResource): boolean => metadata.annotations?.[INTERRUPT] !== undefined;
