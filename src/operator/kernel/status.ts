import { trimToBytes, NOTE_LENGTH } from '../../kube/events.ts';
import type { Condition } from '../../schema/platform/objects/conditions.ts';
import { READY, STALLED, SUSPENDED } from '../../schema/platform/objects/conditions.ts';
import { isObject } from '../../schema/json.ts';
import { formatCanonicalJson } from '../../schema/canonical-json.ts';
import { findCondition } from './conditions.ts';
import { UNDER_WAY, type StatedCondition } from './outcome.ts';

export type Status = {
  observedGeneration?: number;
  conditions?: Condition[];
  phase?: string;
  logTail?: string;
};

/**
 * Returns the merge patch from `before` to `after`, or undefined if they are the same. A field that is gone, at any
 * depth, is null in it.
 */
export const buildStatusPatch = (before: object | undefined, after: object): object | undefined =>
  formatCanonicalJson(before ?? {}) === formatCanonicalJson(after)
    ? undefined
    : buildMergePatch(before ?? {}, after);

/** Returns `after` with null for each field that only `before` has. Lists are replaced as a whole. */
function buildMergePatch(before: object, after: object): object {
  const was = Object.entries(before).map(([name, old]: [string, unknown]) => {
    const is: unknown = (after as Record<string, unknown>)[name];
    return [name, isObject(old) && isObject(is) ? buildMergePatch(old, is) : (is ?? null)];
  });
  return { ...after, ...Object.fromEntries(was) };
}

export type Transition = {
  type: 'Normal' | 'Warning';
  reason: string;
  action: string;
  note: string;
};

/** Returns events for the stated conditions besides Ready that differ from before. */
export const buildConditionEvents = (
  before: Status | undefined,
  statements: readonly StatedCondition[],
): Transition[] =>
  statements.flatMap(({ event, type, reason, message }) =>
    event === undefined || findCondition({ status: before }, type)?.reason === reason
      ? []
      : [{ type: event, reason, action: 'Reconcile', note: message }],
  );

/** Returns the event to report between two statuses. Undefined if nothing that a person cares about has changed. */
export function findTransition(before: Status | undefined, after: Status): Transition | undefined {
  const ready = findCondition({ status: after }, READY);
  if (ready === undefined) return undefined;
  const [was, is] = [before, after].map((status) => findCondition({ status }, SUSPENDED));
  if (was === undefined && is !== undefined)
    return { type: 'Normal', reason: is.reason, action: 'Suspend', note: is.message };
  const isStalled = findCondition({ status: after }, STALLED) !== undefined;
  if (!isNews(before, after, { ready, isStalled })) return undefined;
  return {
    type: isStalled ? 'Warning' : 'Normal',
    reason: ready.reason,
    action: 'Reconcile',
    note: appendLog(ready.message, after),
  };
}

/**
 * Returns true for changes people care about: that the phase or Ready has changed, or that only a change by the user
 * helps now. Nobody cares that something new does not exist yet, that it is on its way, or for the same sentence twice.
 */
function isNews(
  before: Status | undefined,
  after: Status,
  { ready, isStalled }: { ready: Condition; isStalled: boolean },
): boolean {
  const old = findCondition({ status: before }, READY);
  if (old === undefined) return ready.status === 'True' || isStalled;
  if (old.status !== ready.status) return true;
  if (old.reason !== ready.reason) return ready.reason !== UNDER_WAY;
  // The reason was reported while it could still pass, and now it is final.
  if (isStalled && findCondition({ status: before }, STALLED) === undefined) return true;
  return before?.phase !== after.phase && old.message !== ready.message;
}

/** Returns the text of an event, which has little room: the whole sentence, then the last log lines. */
function appendLog(sentence: string, { logTail = '' }: Status): string {
  const log = logTail.trim();
  const room = NOTE_LENGTH - Buffer.byteLength(sentence) - '\n'.length;
  return log === '' || room <= 0 ? sentence : `${sentence}\n${trimToBytes(log, room, 'end')}`;
}
