import type { IncomingHttpHeaders } from 'node:http';
import { Forbidden, Problem } from '../../errors.ts';
import type { Forwarded } from '../../http/callers/client.ts';
import type { AuthEvent, AuthUser, HandlerAnswer } from '../../schema/wire/wall/auth.ts';
import type { Patterns } from '../db/base/permits.ts';
import { listHandlerNames } from './events.ts';
import { toFilterPatterns } from './filter.ts';
import type { Json } from '../../schema/json.ts';

/** Asks the user's handler for one event. Throws its refusal. */
export type Authorize = (question: {
  event: AuthEvent;
  value: string;
  user: AuthUser;
}) => Promise<HandlerAnswer>;

export type Guard = { user: AuthUser; handles: ReadonlySet<string>; authorize: Authorize };

/**
 * Who calls, and from where. Without a guard, everybody may do everything. `readsOnly`: it may change nothing.
 * `byPass`: it came by a pass of the control plane. Its reads and its open streams are no use of the deployment.
 */
export type AgentCaller = {
  identity: string;
  source: string;
  guard?: Guard;
  readsOnly?: true;
  byPass?: true;
};

/** A call, however it came: as a request of the REST API, over a socket, or by a protocol. */
export type AgentCall = {
  requestId: string;
  headers: IncomingHttpHeaders;
  forwarded: Forwarded;
  caller: AgentCaller;
  signal: AbortSignal;
};

/** The identity of those who did not say who they are. */
export const ANONYMOUS = 'anonymous';

/** Throws `Forbidden` for a caller who may only read, unless that is all that is asked. */
export function permitAccess(
  { readsOnly }: AgentCaller,
  access: 'open' | 'read' | 'write' | 'admin',
): void {
  if (readsOnly === true && access !== 'open' && access !== 'read')
    throw new Forbidden('This credential may only read.');
}

/** A caller's permission: the value as its handler left it, and the records that it may touch. */
export type Permit<V> = { value: V; permits: Patterns };

/**
 * Asks whether the caller may do something; every route and every command goes through here. `value` describes what
 * is asked. Throws the handler's refusal as a `Problem` (403 unless it says something else).
 */
export async function askPermission<V extends object>(
  { guard }: AgentCaller,
  event: AuthEvent,
  value: V,
): Promise<Permit<V>> {
  if (guard === undefined || !listHandlerNames(event).some((name) => guard.handles.has(name)))
    return { value, permits: undefined };
  const decision = await guard.authorize({ event, value: JSON.stringify(value), user: guard.user });
  const permits = decision.filter === undefined ? undefined : toFilterPatterns(decision.filter);
  return { value: applyHandlerChanges(value, decision.value, event), permits };
}

/** Returns the value with the fields that the handler changed. It may change a field's value, and not its type. */
function applyHandlerChanges<V extends object>(asked: V, left: Json, event: AuthEvent): V {
  const fields = Object.entries(asked).map(([name, before]: [string, unknown]) => {
    const after = left[name];
    const isKept =
      before === undefined || before === null || describeKind(after) === describeKind(before);
    if (!isKept)
      throw new Problem(
        500,
        `The authorization handler of ${event} left "${name}" as ${describeKind(after)}, not ${describeKind(before)}.`,
      );
    return [name, before === undefined && after === undefined ? before : after];
  });
  return Object.fromEntries(fields) as V;
}

const describeKind = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
