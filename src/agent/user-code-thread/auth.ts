import { Forbidden, Problem, StartError } from '../../errors.ts';
import type { AuthEvent, AuthUser, HandlerAnswer } from '../../schema/wire/wall/auth.ts';
import type { SeenRequest } from '../../schema/wire/wall/user-code.ts';
import { listHandlerNames } from '../auth/events.ts';
import { type Json, isComposite } from '../../schema/json.ts';

type Parameter = {
  event: AuthEvent;
  resource: string;
  action: string;
  value: Json;
  user: AuthUser;
  permissions: string[];
};

/** The handlers of an `Auth` object. It is known by this name, because each project brings its own class. */
export type Handlers = {
  authenticate?: (request: Request) => unknown;
  callbacks?: Record<string, (parameter: Parameter) => unknown>;
};

/** Returns the handlers of the export. Throws a `StartError` when it is no `Auth` object. */
export function requireAuthHandlers(exported: unknown, at: string): Handlers {
  const handlers = (Object(exported) as { '~handlerCache'?: Handlers })['~handlerCache'];
  if (handlers === undefined)
    throw new StartError(
      `auth.path: ${at} is not an Auth object of @langchain/langgraph-sdk/auth.`,
    );
  if (handlers.authenticate === undefined)
    throw new StartError(
      `auth.path: ${at} has no authenticate handler, so nobody could be let in.`,
    );
  return handlers;
}

/** Returns whom the handler lets in. Throws its refusal as a `Problem`: 401 when it says so, and 403 otherwise. */
export async function authenticate(
  { authenticate: handler }: Handlers,
  { method, url, headers }: SeenRequest,
): Promise<AuthUser> {
  let answer: unknown;
  try {
    answer = await handler!(new Request(url, { method, headers }));
  } catch (thrown) {
    throw toRefusal(thrown, (status) => (status === 401 ? 401 : 403));
  }
  return toUser(answer);
}

/** Nobody was let in; or the handler is wrong, where it returns something else than a text. */
const NO_IDENTITY =
  'The authentication handler must return an identity, or an object with one, for each caller whom it lets in.';

function toUser(answer: unknown): AuthUser {
  const given =
    typeof answer === 'string'
      ? { identity: answer }
      : (answer as Partial<AuthUser> | null | undefined);
  const identity = given?.identity;
  // The SDK takes any text: by the empty one a handler lets in callers who did not say who they are.
  if (typeof identity !== 'string')
    throw new Problem((identity ?? null) === null ? 401 : 500, NO_IDENTITY);
  const permissions = Array.isArray(given?.permissions) ? given.permissions.map(String) : [];
  // Only data crosses to the server, and into runs.
  return JSON.parse(
    JSON.stringify({
      display_name: identity,
      is_authenticated: true,
      ...given,
      identity,
      permissions,
    }),
  ) as AuthUser;
}

/** Asks the one handler for the event. Throws a `Problem` when the user may not do it. */
export async function authorize(
  { callbacks = {} }: Handlers,
  { event, value: text, user }: { event: AuthEvent; value: string; user: AuthUser },
): Promise<HandlerAnswer> {
  const value = JSON.parse(text) as Json;
  const name = listHandlerNames(event).find((one) => Object.hasOwn(callbacks, one));
  if (name === undefined) return { value, filter: undefined };
  const [resource = '', action = ''] = event.split(':');
  let answer: unknown;
  try {
    answer = await callbacks[name]!({
      event,
      resource,
      action,
      value,
      user,
      permissions: user.permissions,
    });
  } catch (thrown) {
    throw toRefusal(thrown, (status) => status);
  }
  return { value, filter: toAuthFilter(answer) };
}

function toAuthFilter(answer: unknown): unknown {
  if (answer === undefined || answer === null || answer === true) return undefined;
  if (answer === false) throw new Forbidden('Forbidden');
  if (typeof answer === 'object') return JSON.parse(JSON.stringify(answer)) as unknown;
  throw new Problem(
    500,
    `The authorization handler returned ${typeof answer}: it must return a filter, true, false or nothing.`,
  );
}

/**
 * Returns a handler's error as an answer. An `HTTPException` has a status between 400 and 599; anything else is the
 * handler's own failure, whose text stays in the log.
 */
function toRefusal(thrown: unknown, statusOf: (status: number) => number): Error {
  const { status, message, headers } = Object(thrown) as {
    status?: unknown;
    message?: unknown;
    headers?: unknown;
  };
  if (typeof status !== 'number' || !(status >= 400 && status < 600))
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  return new Problem(
    statusOf(status),
    typeof message === 'string' && message !== '' ? message : 'Forbidden',
    {
      cause: thrown,
      headers: toHeaderRecord(headers),
    },
  );
}

/** Returns headers, however they are given: as an object, a list of pairs or `Headers`. */
function toHeaderRecord(given: unknown): Record<string, string> {
  if (!isComposite(given)) return {};
  return Object.fromEntries(new Headers(given as Record<string, string>));
}
