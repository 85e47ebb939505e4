import { READY, RECONCILING, STALLED, type Condition } from '../../schema/conditions.ts';
import type { Outcome, Statement } from './outcome.ts';

/**
 * All conditions of an object, by kstatus' rules: Ready always, Reconciling and Stalled only while true. `lastTransitionTime` moves only
 * when a status flips, so that the same state gives the same bytes.
 */
export function conditionsOf(
  { outcome, statements }: { outcome: Outcome; statements: Statement[] },
  before: readonly Condition[],
  at: { generation: number; now: string },
): Condition[] {
  return [...summary(outcome), ...statements]
    .map((statement) => {
      const old = before.find((condition) => condition.type === statement.type);
      return {
        type: statement.type,
        status: statement.status,
        reason: statement.reason,
        message: statement.message,
        lastTransitionTime: old?.status === statement.status ? old.lastTransitionTime : at.now,
        observedGeneration: at.generation,
      };
    })
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

function summary({ kind, reason, message }: Outcome): Statement[] {
  const ready: Statement = { type: READY, status: kind === 'settled' ? 'True' : 'False', reason, message };
  if (kind === 'settled') return [ready];
  return [ready, { type: kind === 'waiting' ? RECONCILING : STALLED, status: 'True', reason, message }];
}

export const conditionIn = (object: { status?: { conditions?: Condition[] } }, type: string): Condition | undefined =>
  object.status?.conditions?.find((condition) => condition.type === type);

export const isTrue = (object: { status?: { conditions?: Condition[] } }, type: string): boolean =>
  conditionIn(object, type)?.status === 'True';
