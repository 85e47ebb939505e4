import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import type { GivenUp } from '../kernel/metrics.ts';

/** Returns the revisions that were given up and that nothing newer has replaced, one of a deployment at most. */
export const givenUpIn = (deployments: readonly DeploymentResource[]): GivenUp[] =>
  deployments.flatMap(({ metadata: { namespace = '', name }, status }) => {
    const { revision, since, cause = 'Failure' } = status?.rollout?.aborted ?? {};
    if (revision === undefined || since === undefined) return [];
    return [{ labels: { namespace, deployment: name, revision, cause }, at: Date.parse(since) / 1000 }];
  });
