import { Forbidden, Problem, Unauthorized, Unavailable } from '../../errors.ts';
import { admitStrangers } from '../../http/routes/admission.ts';
import { readText } from '../../http/bodies/bounded-answer.ts';
import { deriveNetwork } from '../../http/outgoing/addresses.ts';
import { Limiter } from '../../http/limits/limiter.ts';
import { Rate } from '../../http/limits/quota.ts';
import {
  answerJson,
  answerNoContent,
  buildRouteMakers,
  type Reply,
  type Request,
  type Route,
} from '../../http/routes/route.ts';
import { BrowserSession, SignIn } from '../../schema/wire/console-session.ts';
import type { WhoAmI } from '../../schema/platform/deployment/whoami.ts';
import type { ControlPlaneDoor } from '../control-plane.ts';
import { chooseCookie } from './cookie.ts';
import type { BrowserSessions } from './sessions.ts';
import { buildInwardHeaders, type SentAlong } from '../headers.ts';
import { parseJsonOr } from '../../schema/json.ts';

const GUESSING = 'Too many wrong keys have come from this address; try again later.';
/** Wrong keys that one client may try in a minute. */
const OF_ONE = 20;
/** Those of all clients: half as many as the control plane takes from one address, which is that of the console. */
const OF_ALL = 300;
/**
 * Sign-ins beyond these that are still checked: a good key among the wrong ones of others comes through. The control
 * plane knows forged keys without a look-up.
 */
const BEYOND = { atOnce: 4, waiting: 200 };
/** A header can't hold other characters, and no key has them. */
const KEY = /^[\x21-\x7e]+$/;

/** Bytes of sign-ins that are read at a time, and the seconds in which each must have come. */
const STRANGERS = { seconds: 10, address: 256 * 1024, all: 4 * 1024 * 1024 };

/** Bytes of the control plane's answer, which has some names. */
const MAX_ANSWER_BYTES = 262_144;

const OPTIONS = { api_key: true };
const ANSWER = { description: 'Who is signed in.', schema: BrowserSession };

export type SessionParts = {
  sessions: BrowserSessions;
  door: ControlPlaneDoor;
  signedIn: (result: 'done' | 'refused' | 'failed') => void;
};

/** Returns the routes by which a page learns who is signed in, and by which sessions begin and end. */
export function buildSessionRoutes(parts: SessionParts): Route<undefined>[] {
  const signIn = buildSignIn(parts);
  const route = buildRouteMakers<undefined>('Session');
  return [
    route.get('/console/session', {
      id: 'session',
      summary: 'Who is signed in',
      access: 'open',
      answers: { 200: ANSWER },
      handler: (request) => answerSession(parts, request),
    }),
    route.post('/console/session', {
      id: 'sign_in',
      summary: 'Sign in',
      access: 'open',
      body: SignIn,
      admission: admitStrangers(STRANGERS),
      answers: { 200: ANSWER },
      handler: (request) => signIn(request.body.api_key.trim(), request),
    }),
    route.delete('/console/session', {
      id: 'sign_out',
      summary: 'Sign out',
      access: 'open',
      answers: { 204: { description: 'Nobody is signed in.' } },
      handler: ({ headers }) =>
        answerNoContent(204, buildCookieHeader(parts.sessions.end(headers))),
    }),
  ];
}

const buildCookieHeader = (cookie: string | undefined): Record<string, string> =>
  cookie === undefined ? {} : { 'set-cookie': cookie };

const answerSignedIn = (known: WhoAmI, cookie: string | undefined): Reply =>
  answerJson(
    { signed_in: true, ...known, options: OPTIONS } satisfies BrowserSession,
    200,
    buildCookieHeader(cookie),
  );

async function answerSession({ sessions, door }: SessionParts, request: Request): Promise<Reply> {
  const session = sessions.readSession(request.headers);
  if (session === 'signed_out')
    return answerJson({ signed_in: false, options: OPTIONS } satisfies BrowserSession);
  const known =
    session === 'ended' ? undefined : await askWhoAmI(door, toKeyCaller(session.key, request));
  if (session === 'ended' || known === undefined)
    return answerJson({
      signed_in: false,
      options: OPTIONS,
      reason: session === 'ended' ? session : 'revoked',
    } satisfies BrowserSession);
  return answerSignedIn(known, session.renewed);
}

const toKeyCaller = (
  key: string,
  { headers, source, requestId, signal }: Request,
): KeyOfCaller => ({
  key,
  tenant: [headers['x-tenant-id']].flat()[0],
  source,
  requestId,
  signal,
});

/** Returns the function that begins a session, and bounds how many keys are tried in vain. */
function buildSignIn({
  sessions,
  door,
  signedIn,
}: SessionParts): (key: string, request: Request) => Promise<Reply> {
  const ofOne = new Rate({ perMinute: OF_ONE, message: GUESSING });
  const ofAll = new Rate({ perMinute: OF_ALL, message: GUESSING });
  const beyond = new Limiter(BEYOND.atOnce);
  let waiting = 0;
  /** Does the work of a client with too many wrong keys: behind others like it, and a wrong key gets the refusal. */
  const runBeyondLimit = async <T>(refusal: unknown, work: () => Promise<T>): Promise<T> => {
    if (waiting >= BEYOND.waiting) throw refusal;
    waiting += 1;
    try {
      return await beyond.run(work);
    } catch (error) {
      throw error instanceof Unauthorized ? refusal : error;
    } finally {
      waiting -= 1;
    }
  };
  const runCounted = async <T>(address: string, work: () => Promise<T>): Promise<T> => {
    const source = deriveNetwork(address);
    try {
      // A failure is assumed until the opposite is shown, because many may be under way at a time.
      ofOne.take(source);
      ofAll.take('');
    } catch (refusal) {
      return runBeyondLimit(refusal, work).then(
        (done) => {
          signedIn('done');
          return done;
        },
        (error: unknown) => {
          signedIn('refused');
          throw error;
        },
      );
    }
    try {
      const done = await work();
      ofOne.giveBack(source);
      ofAll.giveBack('');
      signedIn('done');
      return done;
    } catch (error) {
      const isWrong = error instanceof Unauthorized;
      if (!isWrong) ofOne.giveBack(source);
      if (!isWrong) ofAll.giveBack('');
      signedIn(isWrong || (error instanceof Problem && error.status < 500) ? 'refused' : 'failed');
      throw error;
    }
  };
  return (key, request) =>
    runCounted(request.source, async () => {
      const cookie = chooseCookie(request);
      if (cookie === undefined)
        throw new Forbidden(
          'The console accepts keys only over https, or on the machine itself: this page came over plain http.',
        );
      const known = KEY.test(key) ? await askWhoAmI(door, toKeyCaller(key, request)) : undefined;
      if (known === undefined) throw new Unauthorized('The API key is not known, or has expired.');
      return answerSignedIn(known, sessions.begin(cookie, key));
    });
}

/** A key, and the request that brings it. `tenant`: that of X-Tenant-Id. */
type KeyOfCaller = SentAlong & { tenant: string | undefined; signal: AbortSignal };

/** Returns whose key it is; undefined if the control plane does not take it. Throws any other refusal of it. */
async function askWhoAmI(
  door: ControlPlaneDoor,
  { tenant, signal, ...along }: KeyOfCaller,
): Promise<WhoAmI | undefined> {
  const given = {
    accept: 'application/json',
    ...(tenant !== undefined && { 'x-tenant-id': tenant }),
  };
  const answer = await door.ask({
    method: 'GET',
    path: '/v2/whoami',
    headers: buildInwardHeaders(given, along),
    body: undefined,
    signal,
  });
  const body = parseJsonOr(await readText(answer, MAX_ANSWER_BYTES), undefined) as
    | { detail?: string }
    | undefined;
  const status = answer.statusCode ?? 0;
  if (status === 200) return body as WhoAmI;
  if (status === 401) return undefined;
  const detail = body?.detail ?? `The control plane answered with ${status}.`;
  if (status === 403) throw new Forbidden(detail);
  if (status === 429)
    throw new Problem(429, detail, {
      headers: { 'retry-after': answer.headers['retry-after'] ?? '10' },
    });
  throw new Unavailable(`The control plane can not say whose key this is: ${detail}`);
}
