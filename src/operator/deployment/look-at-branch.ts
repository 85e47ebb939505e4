import type { GitPlaces } from '../../git/places.ts';
import type { Kube } from '../../kube/kube.ts';
import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { Caches } from '../view/caches.ts';
import type { Builder } from '../../config/platform/builder.ts';
import { fetchHeadCommit } from '../../git/ls-refs.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import type { GitIntegration } from '../../schema/platform/source/git-connection.ts';
import type { BranchFound, BranchPlace, Follower } from '../branches/branch-look.ts';
import type { OperatorDeps } from '../view/deps.ts';
import { joinRepositoryHosts, resolveRemote } from '../view/git-remote.ts';
import { buildSource } from '../view/integrations.ts';
import {
  getFollowedBranch,
  isOverSsh,
  isPushNews,
  pushNoted,
  buildBranchSubject,
} from './pushed.ts';

type LookDeps = { caches: Caches; settings: OperatorSettings };

type Source = { branch: string; url: string; integration: GitIntegration; builder: Builder };

/** Returns where the branch is, if one is followed and may be. A revision says why it may not. */
export function resolveBranchSource(
  { caches, settings }: LookDeps,
  deployment: DeploymentResource,
): Source | undefined {
  const { builder } = settings;
  const branch = getFollowedBranch(deployment);
  if (builder === undefined || branch === undefined) return undefined;
  const source = buildSource(caches, settings, deployment);
  if ('fault' in source) return undefined;
  return {
    branch,
    url: deployment.spec.sourceConfig?.repoUrl ?? '',
    integration: source.integration,
    builder,
  };
}

/** Keeps the deployments whose branches are looked at, calls back at each push event, and returns a list of them. */
export function trackFollowers(
  { deployments }: OperatorDeps['caches'],
  pushed: () => void,
): () => Follower[] {
  const known = new Map<string, Follower>();
  deployments.addChangeListener(({ key, after }) => {
    const before = known.get(key);
    const follower = after && toFollower(after);
    if (follower === undefined) known.delete(key);
    else known.set(key, follower);
    if (follower?.push !== undefined && follower.push !== before?.push) pushed();
  });
  return () => [...known.values()];
}

/** Over ssh nobody but a build learns what a branch holds, so there is nothing to look at. */
function toFollower(deployment: DeploymentResource): Follower | undefined {
  if (
    getFollowedBranch(deployment) === undefined ||
    deployment.spec.suspend === true ||
    isOverSsh(deployment)
  )
    return undefined;
  const { namespace, name, uid = '' } = deployment.metadata;
  const push = isPushNews(deployment) ? pushNoted(deployment) : undefined;
  return { key: `${namespace}/${name}`, uid, subject: buildBranchSubject(deployment), push };
}

/** Finds the deployment and where its branch is. One that is out of bounds is left alone. */
function findSource(known: LookDeps, key: string): Source | undefined {
  const { deployments } = known.caches;
  const deployment =
    deployments.faults.findFault(key) === undefined ? deployments.get(key) : undefined;
  return deployment && resolveBranchSource(known, deployment);
}

/** Returns the tenant that a deployment's looks count for, the hosts that they ask, and how often. */
export function findBranchPlace(known: LookDeps, key: string): BranchPlace | undefined {
  const source = findSource(known, key);
  if (source === undefined) return undefined;
  const { tenantId: tenant, pollSeconds } = source.integration;
  return {
    tenant,
    host: joinRepositoryHosts(source.url, source.integration),
    every: pollSeconds ?? known.settings.pollSeconds,
  };
}

/** Asks the git host for the head of the branch that a deployment follows. Undefined: it no longer follows one. */
export async function lookAtBranch(
  deps: LookDeps & { kube: Kube; gitPlaces: GitPlaces },
  key: string,
  signal: AbortSignal,
): Promise<BranchFound | undefined> {
  const source = findSource(deps, key);
  if (source === undefined) return undefined;
  const remote = await resolveRemote(deps, { ...source, signal });
  const head = await fetchHeadCommit(remote, source.branch, signal);
  return head === undefined
    ? { reason: 'RefMissing', message: `There is no branch ${source.branch} to follow.` }
    : { head };
}
