import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import { FOLLOWS_BRANCH } from '../../schema/conditions.ts';
import type { BranchLook } from '../branches/branch-look.ts';
import { conditionIn } from '../kernel/conditions.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import { asksForRevision, asksUnseen, followedFields, isOverSsh, pushedRevision, pushNoted, subjectOf } from './pushed.ts';
import type { DeploymentStatusFields } from './status.ts';

/** What following a branch came to: a revision to make, and what the status says. */
export type Followed = {
  revision?: RevisionResource;
  status: Pick<DeploymentStatusFields, 'followedRef' | 'followedCommit' | 'pushHandled'>;
  statements: StatedCondition[];
};

type Following = {
  /** The branch. Undefined: none is followed, or it may not be. */
  branch: string | undefined;
  /** The last look at it, if there was one. */
  look: BranchLook | undefined;
  revisions: RevisionResource[];
  /** False while something else comes first. */
  mayMake: boolean;
};

/** Decides by the last look at the branch that a deployment follows. Between looks the status says the same. */
export function followBranch(deployment: DeploymentResource, { branch, look, ...more }: Following): Followed {
  const status = followedFields(deployment);
  if (branch === undefined) return { status, statements: [] };
  if (isOverSsh(deployment)) return more.mayMake ? unseen(deployment, more.revisions) : { status, statements: [] };
  if (look?.subject !== subjectOf(deployment)) return { status, statements: formerStatement(deployment) };
  return seen(deployment, { ...more, branch, look });
}

type Seen = Omit<Following, 'branch' | 'look'> & { branch: string; look: BranchLook };

/** Decides by one look. An event stays unhandled while the host is away, so that nothing is lost. */
function seen(deployment: DeploymentResource, { branch, look: { found, push }, revisions, mayMake }: Seen): Followed {
  const status = followedFields(deployment);
  const handled = push === undefined ? status : { ...status, pushHandled: push };
  if ('reason' in found) {
    const isHandled = found.reason === 'RefMissing' && mayMake;
    return { status: isHandled ? handled : status, statements: [{ type: FOLLOWS_BRANCH, status: 'False', ...found }] };
  }
  if (!mayMake) return { status, statements: [] };
  const { head } = found;
  const isPush = push !== undefined && status.pushHandled !== push;
  const asks = asksForRevision(deployment, revisions, { head, isPush });
  return {
    ...(asks && { revision: pushedRevision(deployment, revisions, head) }),
    status: { ...handled, followedRef: branch, followedCommit: head },
    statements: [],
  };
}

/** Decides by push events alone. */
function unseen(deployment: DeploymentResource, revisions: RevisionResource[]): Followed {
  const noted = pushNoted(deployment);
  return {
    ...(asksUnseen(deployment, revisions) && { revision: pushedRevision(deployment, revisions) }),
    status: { ...followedFields(deployment), ...(noted !== undefined && { pushHandled: noted }) },
    statements: [],
  };
}

/** Repeats the condition of the status until an operator that took over has looked. */
function formerStatement(deployment: DeploymentResource): StatedCondition[] {
  const known = conditionIn(deployment, FOLLOWS_BRANCH);
  return known === undefined ? [] : [{ type: FOLLOWS_BRANCH, status: known.status, reason: known.reason, message: known.message }];
}
