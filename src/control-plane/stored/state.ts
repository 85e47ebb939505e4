import {
  ASLEEP,
  READY,
  SERVING,
  STALLED,
  type Condition,
} from '../../schema/platform/objects/conditions.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type { DeploymentState } from '../../schema/platform/deployment/deployment-summary.ts';
import { ENDED, type RevisionStatus } from '../../schema/platform/deployment/statuses.ts';

/** How a deployment is, in a word, with the reason and a sentence. */
export type StateShown = {
  state: DeploymentState;
  reason: string | null;
  message: string | null;
  serving: boolean;
};

const FAILED: readonly RevisionStatus[] = ['CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED'];

const pickReason = (
  from: { reason?: string | undefined; message?: string | undefined } | undefined,
): { reason: string | null; message: string | null } => ({
  reason: from?.reason ?? null,
  message: from?.message ?? null,
});

/** Returns how a deployment is whose newest revision is `latest`. */
export function decideState(
  deployment: DeploymentResource,
  latest: RevisionResource | undefined,
): StateShown {
  const { conditions = [] } = deployment.status ?? {};
  const find: Find = (type) => conditions.find((condition) => condition.type === type);
  const found =
    decideRestState(deployment, find) ??
    decideRolloutState(latest, find) ??
    decideServingState(deployment, find);
  return { ...found, serving: find(SERVING)?.status === 'True' };
}

type Find = (type: string) => Condition | undefined;
type StateOfRevision = Omit<StateShown, 'serving'>;

/** The states that somebody asked for. */
function decideRestState(
  { metadata, spec, status = {} }: DeploymentResource,
  find: Find,
): StateOfRevision | undefined {
  if (metadata.deletionTimestamp !== undefined) return { state: 'deleting', ...pickReason(status) };
  if (spec.hibernate === true) return { state: 'hibernated', ...pickReason(find(SERVING)) };
  if (status.asleepSince !== undefined) return { state: 'asleep', ...pickReason(find(ASLEEP)) };
  return undefined;
}

/** The states of the newest revision until it serves. Its message says how far it is; else Ready names the obstacle. */
function decideRolloutState(
  latest: RevisionResource | undefined,
  find: Find,
): StateOfRevision | undefined {
  const { phase = 'CREATING', message } = latest?.status ?? {};
  if (FAILED.includes(phase)) return { state: 'failed', ...pickReason(latest?.status) };
  const stalled = find(STALLED);
  if (stalled?.status === 'True') return { state: 'failed', ...pickReason(stalled) };
  if (latest === undefined || ENDED.includes(phase)) return undefined;
  return {
    state: 'rolling_out',
    ...pickReason(message === undefined ? find(READY) : latest.status),
  };
}

function decideServingState({ status = {} }: DeploymentResource, find: Find): StateOfRevision {
  const serves = find(SERVING);
  if (serves?.status === 'True') return { state: 'serving', ...pickReason(serves) };
  if (status.activeRevision !== undefined) return { state: 'unavailable', ...pickReason(serves) };
  return { state: 'waiting', ...pickReason(find(READY)) };
}
