import type { IncomingHttpHeaders } from 'node:http';
import { Forbidden, Unavailable } from '../../errors.ts';
import type { AuthUser } from '../../schema/wire/wall/auth.ts';
import { ANONYMOUS, type AgentCaller, type Guard } from './caller.ts';
import type { UserCache } from './user-cache.ts';

/** The part of a request that authentication reads. `url`: path with query; `access`: required by its route. */
export type CallerRequest = {
  source: string;
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  access?: 'open' | 'read' | 'write' | 'admin';
};

/** Who decides which callers are let in: nobody, the key of the deployment, or the handlers of `auth.path`. */
export type Guarding = 'open' | 'key' | 'handlers';

export type AuthenticateDeps = {
  authenticate: (request: {
    method: string;
    url: string;
    headers: [string, string][];
  }) => Promise<AuthUser>;
  authorize: Guard['authorize'];
  handles: () => ReadonlySet<string>;
  cache: UserCache | undefined;
};

/** Lets everybody do everything. */
export const openToAll = ({ source }: { source: string }): AgentCaller => ({
  identity: ANONYMOUS,
  source,
});

/**
 * Returns a function that lets callers in by the user's own handlers. It throws their refusal: 401 if the handler says
 * so, and 403 otherwise.
 */
export function buildHandlerAuthentication(
  deps: AuthenticateDeps,
): (request: CallerRequest) => Promise<AgentCaller> {
  return async (request) => {
    const user = await authenticateUser(deps, request);
    return {
      identity: user.identity,
      source: request.source,
      guard: { user, handles: deps.handles(), authorize: deps.authorize },
    };
  };
}

/**
 * Returns callers that stand for users who were let in before. Nobody waits for their answers, so a handler that gives
 * none refuses.
 */
export function buildOwnerCallers({
  authorize,
  handles,
}: AuthenticateDeps): (owner: AuthUser | null) => AgentCaller {
  const authorizeOrRefuse: Guard['authorize'] = (question) =>
    authorize(question).catch((error: unknown) => {
      throw error instanceof Unavailable ? new Forbidden(error.message, { cause: error }) : error;
    });
  return (user) => {
    if (user === null)
      throw new Forbidden(
        "It was created without authentication, so the handlers of auth.path can't decide about it.",
      );
    return {
      identity: user.identity,
      source: OWN,
      guard: { user, handles: handles(), authorize: authorizeOrRefuse },
    };
  };
}

/** The address of those who do not come by a request. */
const OWN = 'server';

/** Returns a caller who may do everything, and whom graphs see as their user. */
export const openToUser = (user: AuthUser, { source }: { source: string }): AgentCaller => ({
  identity: user.identity,
  source,
  guard: {
    user,
    handles: new Set(),
    authorize: () => Promise.reject(new Forbidden('Nobody is asked.')),
  },
});

/** Returns callers for users of a server without handlers. */
export const openToOwners = (owner: AuthUser | null): AgentCaller =>
  owner === null ? openToAll({ source: OWN }) : openToUser(owner, { source: OWN });

async function authenticateUser(
  { authenticate, cache }: AuthenticateDeps,
  { method, url, headers }: CallerRequest,
): Promise<AuthUser> {
  const key = cache?.buildKey(headers);
  const known = key === undefined ? undefined : cache!.get(key);
  if (known !== undefined) return known;
  const user = await authenticate({
    method,
    url: buildAbsoluteUrl(url, headers.host),
    headers: listHeaderPairs(headers),
  });
  if (key !== undefined) cache!.set(key, user);
  return user;
}

/** Returns the URL with the host that the client named, unless that is nonsense. */
function buildAbsoluteUrl(url: string, host: string | undefined): string {
  const given = `http://${host ?? 'localhost'}${url}`;
  return URL.canParse(given) ? given : `http://localhost${url}`;
}

const listHeaderPairs = (headers: IncomingHttpHeaders): [string, string][] =>
  Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith(':') ? [] : [value ?? []].flat().map((one) => [name, one] as [string, string]),
  );
