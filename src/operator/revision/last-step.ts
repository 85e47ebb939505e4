import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import { getReadySince } from '../pods/diagnose.ts';
import { buildIdleDecision, SERVES, STARTING, type Decision } from './decision.ts';
import type { RevisionWorld, Situation } from './world.ts';

/** Milliseconds within which the deployment sends traffic to a complete revision. A longer wait is reported. */
const SWITCH = 30_000;

/** Milliseconds for which a revision that serves waits for the first report of its server. */
const REPORTED = 5000;

/**
 * Decides for a complete revision. Until it serves, its status stays, because a momentary state is not worth a write.
 */
export function decideLastStep(done: Partial<Decision>, situation: Situation): Decision {
  const { revision, world } = situation;
  const keepStatus = (left: number): Decision => ({
    ...buildIdleDecision('DEPLOYING', STARTING),
    ...getReportedState(revision),
    ...done,
    again: left / 1000,
  });
  if (world.hasTraffic) {
    const left = isUnreported(situation)
      ? completeSince(world) + REPORTED - world.now.getTime()
      : 0;
    // Where a node's clock is ahead, nobody waits: the facts are taken whenever they come.
    return left > 0 && left <= REPORTED
      ? keepStatus(left)
      : buildIdleDecision('DEPLOYED', SERVES, { ...done, rolledOut: true });
  }
  const left = Math.min(SWITCH, completeSince(world) + SWITCH - world.now.getTime());
  if (left > 0) return keepStatus(left);
  return buildIdleDecision('DEPLOYING', 'All pods are ready; traffic is being switched.', {
    ...done,
    rolledOut: true,
  });
}

/** Returns true if nothing is known of its server, and its pods have a gateway to report it to. */
const isUnreported = ({ revision, world, settings }: Situation): boolean =>
  settings.gateway !== undefined &&
  world.server === undefined &&
  revision.status?.guard === undefined;

function getReportedState({ status }: RevisionResource): Partial<Decision> {
  const { phase, message, reason } = status ?? {};
  if ((phase !== 'AWAITING_DEPLOY' && phase !== 'DEPLOYING') || message === undefined) return {};
  return { phase, message, ...(reason !== undefined && { reason }) };
}

/** Returns when the last of its pods became ready, in milliseconds since the epoch. 0 if that is not known. */
const completeSince = ({ apiPods, queuePods }: RevisionWorld): number =>
  Math.max(0, ...[...apiPods, ...queuePods].flatMap((pod) => getReadySince(pod) ?? []));
