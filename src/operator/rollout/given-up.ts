import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';

/** Returns the revision that was given up and that nothing newer has replaced, if there is one. */
export function listAbortedRevisions({ status }: DeploymentResource): {
  labels: { revision: string; cause: string };
  /** Seconds since the epoch. */
  value: number;
}[] {
  const { revision, since, cause = 'Failure' } = status?.rollout?.aborted ?? {};
  return revision === undefined || since === undefined
    ? []
    : [{ labels: { revision, cause }, value: Date.parse(since) / 1000 }];
}
