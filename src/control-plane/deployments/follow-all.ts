import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { SseEvent } from '../../http/routes/route.ts';
import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { buildTenantFilter } from './lookup.ts';
import type { Changed } from '../stored/recent-changes.ts';
import { buildDeploymentSummary } from './summary.ts';

/** Milliseconds in which changes are collected. A rollout changes a deployment several times within a few. */
const COLLECTED = 100;

/** Places of another process, or of an earlier one, mean nothing here. */
const PROCESS = randomUUID().slice(0, 8);
const formatId = (at: number): string => `${PROCESS}.${at}`;

/** Returns the place that an id of a message names, undefined for one of another process. */
const parseId = (id: string): number | undefined => {
  const [process, at] = id.split('.');
  return process === PROCESS && /^\d{1,15}$/.test(at ?? '') ? Number(at) : undefined;
};

/**
 * Streams the changes of all of the caller's deployments: `deployment` with a summary, `gone` with an id. It sends none
 * of them as they were at the beginning. `after` is the id of the last message that the client has. `resync` says that
 * changes may be missing: the client reads the list again.
 */
export async function* followAll(
  plane: ControlPlane,
  call: CallContext,
  after: string | undefined,
): AsyncGenerator<SseEvent | SseEvent[]> {
  const { changes } = plane.stored;
  const leaving = AbortSignal.any([call.signal, plane.stopping]);
  let at = after === undefined ? changes.at : (parseId(after) ?? -1);
  if (after === undefined) yield { event: 'ready', data: {}, id: formatId(at) };
  while (!leaving.aborted) {
    // The wait begins before the read, so that a change during the read is not missed.
    const changed = plane.stored.waitForChange(leaving);
    const since = changes.listSince(at);
    at = since?.at ?? changes.at;
    const id = formatId(at);
    if (since === undefined) yield { event: 'resync', data: {}, id };
    else if (since.changes.length > 0)
      yield buildEvents(plane, call, since.changes).map((event) => ({ ...event, id }));
    await changed;
    await wait(COLLECTED, undefined, { signal: leaving }).catch(() => undefined);
  }
}

function buildEvents(
  plane: ControlPlane,
  { caller }: CallContext,
  changes: readonly Changed[],
): SseEvent[] {
  const mine = buildTenantFilter(plane, caller);
  return changes.flatMap(({ uid, gone }): SseEvent[] => {
    const deployment = gone ?? plane.stored.withUid(uid);
    if (deployment === undefined || !mine(deployment)) return [];
    if (gone !== undefined) return [{ event: 'gone', data: { id: plane.stored.getId(gone) } }];
    return [
      { event: 'deployment', data: buildDeploymentSummary(plane.overview.summarize(deployment)) },
    ];
  });
}
