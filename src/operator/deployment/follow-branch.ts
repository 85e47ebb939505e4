import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { FOLLOWS_BRANCH } from '../../schema/platform/objects/conditions.ts';
import { findCondition } from '../kernel/conditions.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import {
  isRevisionNeeded,
  hasUnseenPush,
  isOverSsh,
  buildPushedRevision,
  pushNoted,
  buildBranchSubject,
} from './pushed.ts';
import type { PartReport } from '../reports/part-report.ts';
import type { WrittenFacts } from './part.ts';

/** The result of following a branch: a revision to make, and changes of the status. */
type Followed = PartReport & { revision?: RevisionResource };

/** Decides by the last look at the branch that a deployment follows. Between looks the status says the same. */
export function followBranch({
  deployment,
  branch,
  look,
  revisions,
  missing,
  trouble,
}: WrittenFacts): Followed {
  // Something else may come first.
  const mayMake = trouble === undefined && missing === undefined;
  if (branch === undefined) return {};
  if (isOverSsh(deployment)) return mayMake ? decideByPush(deployment, revisions) : {};
  if (look?.subject !== buildBranchSubject(deployment))
    return { statements: repeatCondition(deployment) };
  return decideByLook(deployment, { branch, look, revisions, mayMake });
}

type BranchState = {
  branch: string;
  look: NonNullable<WrittenFacts['look']>;
  revisions: RevisionResource[];
  mayMake: boolean;
};

/** Decides by one look. An event stays unhandled while the host is away, so that nothing is lost. */
function decideByLook(
  deployment: DeploymentResource,
  { branch, look: { found, push }, revisions, mayMake }: BranchState,
): Followed {
  const handled = push === undefined ? {} : { pushHandled: push };
  if ('reason' in found) {
    const isHandled = found.reason === 'RefMissing' && mayMake;
    return {
      ...(isHandled && { status: handled }),
      statements: [{ type: FOLLOWS_BRANCH, status: 'False', ...found }],
    };
  }
  if (!mayMake) return {};
  const { head } = found;
  const isPush = push !== undefined && deployment.status?.pushHandled !== push;
  const asks = isRevisionNeeded(deployment, revisions, { head, isPush });
  return {
    ...(asks && { revision: buildPushedRevision(deployment, revisions, head) }),
    status: { ...handled, followedRef: branch, followedCommit: head },
  };
}

function decideByPush(deployment: DeploymentResource, revisions: RevisionResource[]): Followed {
  const noted = pushNoted(deployment);
  return {
    ...(hasUnseenPush(deployment, revisions) && {
      revision: buildPushedRevision(deployment, revisions),
    }),
    ...(noted !== undefined && { status: { pushHandled: noted } }),
  };
}

/** Repeats the condition of the status until an operator that took over has looked. */
function repeatCondition(deployment: DeploymentResource): StatedCondition[] {
  const known = findCondition(deployment, FOLLOWS_BRANCH);
  return known === undefined
    ? []
    : [
        {
          type: FOLLOWS_BRANCH,
          status: known.status,
          reason: known.reason,
          message: known.message,
        },
      ];
}
