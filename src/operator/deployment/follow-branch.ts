import type { StagedBuilds } from '../../config/builder.ts';
import { Problem } from '../../errors.ts';
import { headOf } from '../../git/ls-refs.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import type { OperatorDeps } from '../family/deps.ts';
import { remoteOf } from '../family/git-remote.ts';
import { buildSource } from '../family/integrations.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import type { GitIntegration } from '../../schema/git-connection.ts';
import { FOLLOWS_BRANCH } from '../../schema/conditions.ts';
import { asksForRevision, asksUnseen, followedBranch, followedFields, isPushNews, pushedRevision, pushNoted } from './pushed.ts';
import type { DeploymentStatusFields } from './status.ts';

/** Seconds after which a host that did not answer is asked again. */
const AGAIN = 30;

/** What following a branch came to: a revision to make, what the status says, and when to look again. */
export type Followed = {
  revision?: RevisionResource;
  status: Pick<DeploymentStatusFields, 'followedRef' | 'followedCommit' | 'pushHandled'>;
  statements: StatedCondition[];
  again?: number | undefined;
};

type Looking = { revisions: RevisionResource[]; signal: AbortSignal; now: Date };
type Deps = Pick<OperatorDeps, 'kube' | 'caches' | 'settings' | 'branches' | 'gitPlaces'>;

/** Looks at the branch that a deployment follows: when a push event came, and from time to time where none does. */
export async function followBranch(deps: Deps, deployment: DeploymentResource, looking: Looking): Promise<Followed> {
  const known = { status: followedFields(deployment), statements: [] };
  const place = placeOf(deps, deployment);
  if (place === undefined) return known;
  const every = place.integration.pollSeconds ?? deps.settings.pollSeconds;
  const due = deps.branches.due(deployment.metadata.uid ?? '', every, looking.now);
  if (!isPushNews(deployment) && due > 0) return { ...known, ...(due !== Infinity && { again: due }) };
  try {
    const followed = await look(deps, deployment, { ...place, ...looking });
    return { ...followed, ...(every > 0 && { again: every }) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    // The event stays unhandled, so that nothing is lost.
    return { status: known.status, statements: [missing('GitHostAway', error.message)], again: AGAIN };
  }
}

type Place = { branch: string; integration: GitIntegration; staged: StagedBuilds };

/** Returns where the branch is, if one is followed and may be. A revision says why it may not. */
function placeOf({ caches, settings }: Deps, deployment: DeploymentResource): Place | undefined {
  const staged = settings.builder?.staged;
  const branch = followedBranch(deployment);
  if (staged === undefined || branch === undefined) return undefined;
  const source = buildSource(caches, settings, deployment);
  return 'fault' in source ? undefined : { branch, integration: source.integration, staged };
}

async function look(deps: Deps, deployment: DeploymentResource, place: Place & Looking): Promise<Followed> {
  const { branch, integration, staged, revisions, signal, now } = place;
  const noted = pushNoted(deployment);
  const status = { ...followedFields(deployment), ...(noted !== undefined && { pushHandled: noted }) };
  const remote = await remoteOf(deps, { integration, url: deployment.spec.sourceConfig?.repoUrl ?? '', staged, signal });
  deps.branches.looked(deployment.metadata.uid ?? '', now);
  if (!remote.isWeb)
    return { ...(asksUnseen(deployment, revisions) && { revision: pushedRevision(deployment, revisions) }), status, statements: [] };
  const head = await headOf(remote, branch, signal);
  if (head === undefined) return { status, statements: [missing('RefMissing', `There is no branch ${branch} to follow.`)] };
  const asks = asksForRevision(deployment, revisions, { head, isPush: isPushNews(deployment) });
  return {
    ...(asks && { revision: pushedRevision(deployment, revisions, head) }),
    status: { ...status, followedRef: branch, followedCommit: head },
    statements: [],
  };
}

const missing = (reason: string, message: string): StatedCondition => ({ type: FOLLOWS_BRANCH, status: 'False', reason, message });
