import { NotFound, Problem } from '../../errors.ts';
import { getClient } from '../../http/server/in-process.ts';
import type { AppOptions, Elsewhere } from '../../http/server/server.ts';
import { leaveUnreadLate } from '../../http/bodies/unread-body.ts';
import type { EndOfSession } from '../../schema/wire/console-session.ts';
import type { ControlPlaneDoor } from '../control-plane.ts';
import { buildNotSignedIn, type BrowserSessions } from '../session/sessions.ts';
import { hasBody, buildInwardHeaders, buildOutwardHeaders, isRedirect } from '../headers.ts';
import { PASSED, parsePlaneTarget } from './target.ts';

type Middleware = NonNullable<AppOptions<undefined>['middleware']>[number];
type Context = Parameters<Middleware>[0];

type Passing = {
  sessions: BrowserSessions;
  door: ControlPlaneDoor;
  /** Hears that an answer is under way. Returns the function to call when it has ended. */
  opens: () => () => void;
};

const ROUTE = '/console/api';

/** Passes requests below `/console/api/` on to the control plane, with the key of the session. Bodies are streams. */
export function buildPlaneForwarder(parts: Passing): Middleware {
  return async (ctx, next) => {
    if (!ctx.path.startsWith(PASSED)) return next();
    (ctx.state as { elsewhere?: Elsewhere }).elsewhere = { route: ROUTE, passedOn: false };
    const path = parsePlaneTarget(ctx.req.url ?? '');
    if (path === undefined) throw new NotFound('There is no such path below api/v1/ and api/v2/.');
    const session = parts.sessions.readSession(ctx.headers);
    if (typeof session === 'string') return refuseReader(ctx, session);
    if (session.renewed !== undefined) ctx.set('set-cookie', session.renewed);
    await answerFromPlane(ctx, { ...parts, path, key: session.key });
  };
}

/** Answers a page whose session has ended. */
export function refuseReader(ctx: Context, reason: EndOfSession): void {
  ctx.status = 401;
  ctx.body = buildNotSignedIn(reason);
}

async function answerFromPlane(
  ctx: Context,
  { door, opens, path, key }: Passing & { path: string; key: string },
): Promise<void> {
  const { requestId } = ctx.state as { requestId: string };
  const left = new AbortController();
  const closed = opens();
  ctx.res.once('close', () => {
    left.abort();
    closed();
  });
  const headers = buildInwardHeaders(ctx.headers, {
    key,
    source: getClient(ctx).source,
    requestId,
  });
  const body = hasBody(ctx.headers) ? ctx.req : undefined;
  const answer = await door.ask({ method: ctx.method, path, headers, body, signal: left.signal });
  const status = answer.statusCode ?? 502;
  if (isRedirect(status) || status === 401) answer.destroy();
  if (isRedirect(status))
    throw new Problem(
      502,
      `The control plane redirects: ${answer.headers.location ?? 'it does not name an address'}`,
    );
  if (status === 401) return refuseReader(ctx, 'revoked');
  ctx.status = status;
  ctx.set(buildOutwardHeaders(answer.headers));
  // An answer may come before the body was read, which nobody reads then.
  if (body !== undefined) leaveUnreadLate(body, ctx.res);
  ctx.body = answer;
  // A stream begins with its headers, not with the first event.
  ctx.flushHeaders();
}
