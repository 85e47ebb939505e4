import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { PUSHED_AT } from '../../schema/platform/objects/labels.ts';
import { sortRevisions, buildRevision } from '../../schema/platform/resources/revision-of.ts';
import { parseRepoAddress } from '../../schema/platform/source/repo-url.ts';
import { TAG_PREFIX } from '../../schema/platform/source/source-fields.ts';
import { isEnded } from '../rollout/revisions.ts';

/** Returns the branch whose pushes make revisions of a deployment, if there is one. */
export function getFollowedBranch({ spec, metadata }: DeploymentResource): string | undefined {
  const ref = spec.template.sourceRevisionConfig?.repoRef;
  const follows =
    spec.source === 'git' &&
    spec.sourceConfig?.buildOnPush === true &&
    metadata.deletionTimestamp === undefined;
  return follows && ref !== undefined && !ref.startsWith(TAG_PREFIX) ? ref : undefined;
}

/** Returns integration, repository and branch as one text, which tells whether a look is still of them. */
export const buildBranchSubject = ({ spec }: DeploymentResource): string =>
  JSON.stringify([
    spec.sourceConfig?.integrationId,
    spec.sourceConfig?.repoUrl,
    spec.template.sourceRevisionConfig?.repoRef,
  ]);

/** Returns true if the repository is cloned over ssh. */
export const isOverSsh = ({ spec }: DeploymentResource): boolean =>
  parseRepoAddress(spec.sourceConfig?.repoUrl ?? '')?.protocol === 'ssh';

/** Returns the last push event that came, as its annotation has it. */
export const pushNoted = ({ metadata }: DeploymentResource): string | undefined =>
  metadata.annotations?.[PUSHED_AT]?.slice(0, 128);

/** Returns true if an event came that has not been looked after. */
export const isPushNews = (deployment: DeploymentResource): boolean =>
  pushNoted(deployment) !== undefined && deployment.status?.pushHandled !== pushNoted(deployment);

const getPinnedCommit = ({ spec, status }: RevisionResource): string | undefined =>
  status?.commitSha ?? spec.commit;

/**
 * Returns true if the head of the followed branch asks for a revision. A head that was seen before asks for none, so
 * that repeated and late events change nothing, and a rollback stands until somebody pushes.
 */
export function isRevisionNeeded(
  deployment: DeploymentResource,
  revisions: RevisionResource[],
  { head, isPush }: { head: string; isPush: boolean },
): boolean {
  const [newest] = sortRevisions(revisions);
  if (newest === undefined || getPinnedCommit(newest) === head) return false;
  const { followedRef, followedCommit } = deployment.status ?? {};
  const seen = followedRef === getFollowedBranch(deployment) ? followedCommit : undefined;
  if (head === seen) return false;
  // One that has no commit yet is built from the head, unless it repeats an earlier one.
  if (
    getPinnedCommit(newest) === undefined &&
    newest.spec.rollbackOf === undefined &&
    !isEnded(newest)
  )
    return false;
  return seen !== undefined || isPush || getPinnedCommit(newest) !== undefined;
}

/**
 * Returns true if an event names a commit that no revision is of. Over ssh, nobody but the build learns what the branch
 * holds.
 */
export function hasUnseenPush(
  deployment: DeploymentResource,
  revisions: RevisionResource[],
): boolean {
  const [commit] = (pushNoted(deployment) ?? '').split(' ');
  return (
    isPushNews(deployment) &&
    commit !== undefined &&
    !revisions.some((revision) => getPinnedCommit(revision) === commit)
  );
}

/** Returns the revision of a push, which comes after all that there are. */
export function buildPushedRevision(
  deployment: DeploymentResource,
  revisions: RevisionResource[],
  commit?: string,
): RevisionResource {
  const number = deployment.metadata.generation ?? 1;
  const pushes = revisions
    .filter(({ spec }) => spec.number === number)
    .map(({ spec }) => spec.push ?? 0);
  const made = buildRevision(deployment, {
    push: Math.max(0, ...pushes) + 1,
    ...(commit !== undefined && { commit }),
  });
  const { rollbackOf: _rollback, ...spec } = made.spec;
  return { ...made, spec };
}
