import type { DailyWindow, DatabaseTurns } from '../../../config/platform/database-turns.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { DATABASE_RENEWED } from '../../../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { RENEW_DATABASE } from '../../../schema/platform/objects/labels.ts';
import type { StatedCondition } from '../../kernel/outcome.ts';
import type { TakenTurns } from '../../view/taken-turns.ts';
import type { HeldRenewal } from '../database.ts';
import { isRolledOut, isSetUp, getReplicas } from '../../pods/workload-state.ts';
import { isRenewed, isSettled } from './settled.ts';

export type DatabaseInLine = { deployment: DeploymentResource; set: KubeObject | undefined };

type Line = {
  databases: readonly DatabaseInLine[];
  turns: DatabaseTurns;
  taken: TakenTurns;
  now: Date;
};

/** Seconds after which a database that waits looks again. Nothing wakes it when another one has restarted. */
export const LOOK_AGAIN = 5;

/**
 * Returns why a database must not restart yet; undefined if it may, or if nobody asks for it. One that is down may
 * always: that is a repair. One that may is noted at once, so no two databases take one turn.
 */
export function findHeldRenewal(own: DatabaseInLine, line: () => Line): HeldRenewal | undefined {
  if (!isWaiting(own)) return undefined;
  const { databases, turns, taken, now } = line();
  const isTaken = ({ deployment }: DatabaseInLine): boolean =>
    taken.has(buildRequestKey(deployment), now);
  if (isTaken(own)) return undefined;
  if (turns.window !== undefined && !isWithin(turns.window, now))
    return {
      reason: 'WaitsForWindow',
      message: `The restart of the database waits for ${turns.window.text} UTC.`,
    };
  const ownKey = buildKey(own.deployment);
  const waiting = databases.filter(isWaiting);
  const running = databases.filter(isRestarting).length + waiting.filter(isTaken).length;
  const before = waiting.filter(
    (other) => !isTaken(other) && buildKey(other.deployment) < ownKey,
  ).length;
  if (running + before < turns.atOnce) {
    taken.take(buildRequestKey(own.deployment), now);
    return undefined;
  }
  const message = `The restart of the database waits for its turn: ${running} restart now, and ${before} are before it.`;
  return { reason: 'WaitsForTurn', message };
}

/** Returns the condition of a database that waits. */
export const buildRenewalCondition = ({ reason, message }: HeldRenewal): StatedCondition => ({
  type: DATABASE_RENEWED,
  status: 'False',
  reason,
  message,
});

const buildKey = ({ metadata }: DeploymentResource): string =>
  `${metadata.namespace}/${metadata.name}`;

/** A later request of the same deployment waits for a turn of its own. */
const buildRequestKey = (deployment: DeploymentResource): string =>
  `${buildKey(deployment)} ${deployment.metadata.annotations?.[RENEW_DATABASE]}`;

/** Returns true for a database that runs, and is asked to restart by its annotation. */
function isWaiting({ deployment, set }: DatabaseInLine): boolean {
  if (set === undefined || deployment.metadata.deletionTimestamp !== undefined) return false;
  return (
    getReplicas(set) > 0 &&
    isSetUp(set) &&
    !isSettled(deployment, set) &&
    isRenewed(deployment, set) === false
  );
}

/** Returns true for a database that restarts because its annotation asked for it, or that did not come up since. */
const isRestarting = ({ deployment, set }: DatabaseInLine): boolean =>
  set !== undefined &&
  getReplicas(set) > 0 &&
  isRenewed(deployment, set) === true &&
  !isRolledOut(set);

function isWithin({ from, to }: DailyWindow, now: Date): boolean {
  const minute = now.getUTCHours() * 60 + now.getUTCMinutes();
  return from <= to ? minute >= from && minute < to : minute >= from || minute < to;
}
