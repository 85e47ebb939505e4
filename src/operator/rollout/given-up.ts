import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';

/** A revision that was tried out and given up, and when, in seconds since the epoch. */
type GivenUp = { labels: { revision: string; cause: string }; value: number };

/** Returns the revision that was given up and that nothing newer has replaced, if there is one. */
export function listAbortedRevisions({ status }: DeploymentResource): GivenUp[] {
  const { revision, since, cause = 'Failure' } = status?.rollout?.aborted ?? {};
  return revision === undefined || since === undefined
    ? []
    : [{ labels: { revision, cause }, value: Date.parse(since) / 1000 }];
}
