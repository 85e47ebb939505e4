import { toPrintableLines } from '../../schema/printable-text.ts';
import {
  READY,
  RECONCILING,
  STALLED,
  SUSPENDED,
  type Condition,
} from '../../schema/platform/objects/conditions.ts';
import type { ReconcileOutcome, StatedCondition } from './outcome.ts';

/**
 * Returns all conditions of an object, by kstatus' rules: Ready always, Reconciling and Stalled only while true.
 * `lastTransitionTime` moves only when a status flips, so that the same state gives the same bytes.
 */
export function buildConditions(
  { outcome, statements }: { outcome: ReconcileOutcome; statements: StatedCondition[] },
  before: readonly Condition[],
  at: { generation: number; now: string },
): Condition[] {
  return [...buildSummary(outcome), ...statements]
    .map((statement) => {
      const old = before.find((condition) => condition.type === statement.type);
      return {
        type: statement.type,
        status: statement.status,
        reason: statement.reason,
        // A message may quote words of a tenant's code, and kubectl prints it.
        message: toPrintableLines(statement.message),
        lastTransitionTime: old?.status === statement.status ? old.lastTransitionTime : at.now,
        observedGeneration: at.generation,
      };
    })
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
}

function buildSummary({ kind, reason, message }: ReconcileOutcome): StatedCondition[] {
  const ready: StatedCondition = {
    type: READY,
    status: kind === 'settled' ? 'True' : 'False',
    reason,
    message,
  };
  if (kind === 'settled') return [ready];
  return [
    ready,
    { type: kind === 'waiting' ? RECONCILING : STALLED, status: 'True', reason, message },
  ];
}

/**
 * Returns the conditions of an object whose reconciling is paused: Suspended, and its former conditions except
 * Reconciling, with their generations. An object that was never reconciled is not Ready.
 */
export function buildPausedConditions(
  before: readonly Condition[],
  at: { generation: number; now: string },
): Condition[] {
  const state = {
    reason: 'Suspended',
    message: 'Reconciling is paused by spec.suspend.',
    observedGeneration: at.generation,
  };
  const buildPaused = (type: string, status: Condition['status']): Condition => {
    const old = before.find((condition) => condition.type === type && condition.status === status);
    return { type, status, ...state, lastTransitionTime: old?.lastTransitionTime ?? at.now };
  };
  const known = before.filter(({ type }) => type !== RECONCILING && type !== SUSPENDED);
  const ready = known.some(({ type }) => type === READY) ? [] : [buildPaused(READY, 'Unknown')];
  return [...known, ...ready, buildPaused(SUSPENDED, 'True')].toSorted((a, b) =>
    a.type < b.type ? -1 : 1,
  );
}

export const findCondition = (
  object: { status?: { conditions?: Condition[] } | undefined },
  type: string,
): Condition | undefined => object.status?.conditions?.find((condition) => condition.type === type);

export const isTrue = (object: { status?: { conditions?: Condition[] } }, type: string): boolean =>
  findCondition(object, type)?.status === 'True';
