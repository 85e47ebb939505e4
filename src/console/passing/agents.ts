import { STATUS_CODES, type IncomingMessage } from 'node:http';
import { Conflict, Forbidden, NotFound, Problem, Unauthorized } from '../../errors.ts';
import { getClient } from '../../http/server/in-process.ts';
import { Places } from '../../http/limits/quota.ts';
import type { AppOptions, Elsewhere } from '../../http/server/server.ts';
import { leaveUnreadLate } from '../../http/bodies/unread-body.ts';
import type { ProcessPlace, ProcessDoor } from '../door.ts';
import { hasBody, filterAgentHeaders, buildAgentHeaders, isEvents } from '../headers.ts';
import type { BrowserSessions } from '../session/sessions.ts';
import type { AgentPasses, HeldPass, PassAsked } from './agent-passes.ts';
import { parseAgentTarget, isReading, PASSED_TO_AGENTS, type AgentTarget } from './target.ts';
import { pipeline, Transform } from 'node:stream';
import { refuseReader } from './pass.ts';

type Middleware = NonNullable<AppOptions<undefined>['middleware']>[number];
type Context = Parameters<Middleware>[0];

export type AgentPassing = {
  sessions: BrowserSessions;
  passes: AgentPasses;
  door: ProcessDoor;
  /** Returns where the agents of a pass answer. Throws for names that could mean another place. */
  placeOf: (pass: HeldPass) => ProcessPlace & { prefix: string };
  /** Hears that an answer is under way. Returns the function to call when it has ended. */
  opens: () => () => void;
};

const ROUTE = '/console/api/agents';
/** Answers of agents that one session may have open. */
const MOST_OPEN = 100;

/**
 * Passes requests below `/console/api/agents/` on to agents, each with a pass of its user. A tenant's code writes the
 * answers. They go to the page as data that no browser runs, and decide about no cookie and no address.
 */
export function buildAgentForwarder(parts: AgentPassing): Middleware {
  const open = new Places();
  return async (ctx, next) => {
    if (!ctx.path.startsWith(PASSED_TO_AGENTS)) return next();
    (ctx.state as { elsewhere?: Elsewhere }).elsewhere = { route: ROUTE, passedOn: false };
    refuseNavigation(ctx);
    const target = parseAgentTarget(ctx.req.url ?? '');
    if (target === undefined) throw new NotFound('There is no such path of an agent.');
    const session = parts.sessions.readSession(ctx.headers);
    if (typeof session === 'string') return refuseReader(ctx, session);
    if (session.renewed !== undefined) ctx.set('set-cookie', session.renewed);
    const message = `You have ${MOST_OPEN} answers of agents open; close one first.`;
    const leave = open.enter([{ name: session.key, most: MOST_OPEN, message }]);
    const closed = parts.opens();
    const left = new AbortController();
    ctx.res.once('close', () => {
      left.abort();
      leave();
      closed();
    });
    await answerFromAgent(ctx, parts, {
      target,
      asked: readAsked(ctx, session.key, target),
      left: left.signal,
    });
  };
}

/** Throws `Forbidden` unless a script of the page asks: no answer is opened as a page, a frame or an image. */
function refuseNavigation({ headers }: Context): void {
  const aim = headers['sec-fetch-dest'];
  if (aim !== undefined && aim !== 'empty')
    throw new Forbidden('Answers of agents are read by the page alone.');
}

function readAsked(ctx: Context, key: string, { deploymentId }: AgentTarget): PassAsked {
  const { requestId } = ctx.state as { requestId: string };
  return {
    key,
    tenant: ctx.get('x-tenant-id') || undefined,
    deploymentId,
    source: getClient(ctx).source,
    requestId,
  };
}

/** `left` is aborted when the page has its answer, or has left. */
type AgentRequest = { target: AgentTarget; asked: PassAsked; left: AbortSignal };

async function answerFromAgent(
  ctx: Context,
  parts: AgentPassing,
  asking: AgentRequest,
): Promise<void> {
  const { target, asked, left } = asking;
  try {
    const pass = await parts.passes.getPass(asked);
    if (pass.asleep_since !== null)
      throw new Conflict('The deployment sleeps. Opening this page does not wake it.');
    refuseUnchecked(ctx.method, target, pass);
    const answer = await askWithRenewal(ctx, parts, { ...asking, pass });
    send(ctx, answer);
    renewWhileAllowed(parts.passes, asked, pass, left, () => void answer.destroy());
  } catch (error) {
    // The key of the session is refused, and not the request.
    if (error instanceof Unauthorized) return refuseReader(ctx, 'revoked');
    throw error;
  }
}

/** An agent without a guard may know nothing of passes, so that the console keeps those from acting who only read. */
function refuseUnchecked(method: string, { path }: AgentTarget, { role, guard }: HeldPass): void {
  if (role !== 'read' || guard === 'key' || guard === 'handlers' || isReading(method, path)) return;
  throw new Forbidden('Your key may only read.');
}

type Passed = AgentRequest & { pass: HeldPass };

/** Returns the agent's answer. A pass that it refuses is renewed once, where the request can be sent again. */
async function askWithRenewal(
  ctx: Context,
  parts: AgentPassing,
  passed: Passed,
): Promise<IncomingMessage> {
  const first = await askAgent(ctx, parts, passed);
  if (first.statusCode !== 401) return first;
  first.destroy();
  const pass = await parts.passes.renewPass(passed.asked, passed.pass);
  const again =
    pass === undefined || hasBody(ctx.headers)
      ? undefined
      : await askAgent(ctx, parts, { ...passed, pass });
  if (again !== undefined && again.statusCode !== 401) return again;
  again?.destroy();
  throw new Forbidden(
    'The agent does not let you in. If it has handlers of its own, they may admit users of the platform.',
  );
}

function askAgent(
  ctx: Context,
  { door, placeOf }: AgentPassing,
  { target, asked, pass, left: signal }: Passed,
): Promise<IncomingMessage> {
  const { prefix, ...place } = placeOf(pass);
  const body = hasBody(ctx.headers) ? ctx.req : undefined;
  const headers = buildAgentHeaders(ctx.headers, { pass: pass.pass, requestId: asked.requestId });
  return door.ask(place, {
    method: ctx.method,
    path: `${prefix}${target.path}`,
    headers,
    body,
    signal,
  });
}

function send(ctx: Context, answer: IncomingMessage): void {
  const fault = findAnswerFault(answer);
  if (fault !== undefined) answer.destroy();
  if (fault !== undefined) throw new Problem(502, fault);
  const headers = filterAgentHeaders(answer.headers);
  ctx.status = answer.statusCode ?? 502;
  ctx.set(headers);
  // An answer may come before the body was read, which nobody reads then.
  if (hasBody(ctx.headers)) leaveUnreadLate(ctx.req, ctx.res);
  ctx.body = limitAnswer(answer, { bytes: isEvents(headers) ? Infinity : LARGEST_ANSWER });
  ctx.flushHeaders();
}

function findAnswerFault({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  if (statusCode >= 300 && statusCode < 400)
    return `The agent redirects: ${headers.location ?? 'it does not name an address'}`;
  if (STATUS_CODES[statusCode] === undefined)
    return `The agent answers with the status ${statusCode}, which is not valid.`;
  if (!['identity', undefined].includes(headers['content-encoding']))
    return 'The agent compresses its answer, which was not requested.';
  if (Number(headers['content-length'] ?? 0) > LARGEST_ANSWER)
    return `The agent's answer has more than ${LARGEST_ANSWER} bytes.`;
  return undefined;
}

/** Bytes of an answer that is no stream of events: a state of a thread may have 20 MB. */
export const LARGEST_ANSWER = 64 * 1024 * 1024;
/** Milliseconds of silence after which an answer ends. Streams of agents have a sign of life every few seconds. */
const SILENCE = 120_000;

/** The reason is one of a broken connection, so that nobody takes it for a fault of the console. */
const buildBrokenOff = (message: string): Error =>
  Object.assign(new Error(message), { code: 'ECONNRESET' });

/** Returns the body of an agent's answer, which ends in an error where it is too large, falls silent or breaks off. */
export function limitAnswer(
  answer: IncomingMessage,
  {
    bytes,
    silence = SILENCE,
  }: {
    /** The most that the answer may have. */
    bytes: number;
    silence?: number;
  },
): Transform {
  let size = 0;
  const passed = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      size += chunk.length;
      timer.refresh();
      if (size > bytes) done(buildBrokenOff(`the answer has more than ${bytes} bytes`));
      else done(null, chunk);
    },
  });
  const timer = setTimeout(
    () => passed.destroy(buildBrokenOff('the agent sends nothing any more')),
    silence,
  ).unref();
  passed.once('close', () => clearTimeout(timer));
  // Either side that ends early ends the other; the page sees a broken answer, and no shorter one.
  pipeline(answer, passed, () => undefined);
  return passed;
}

/** Milliseconds between two tries while the control plane does not answer. */
const RETRY = 5000;
/** Milliseconds between two passes at least, however the clocks of nodes differ. */
const PACE = 1000;

/**
 * Renews the pass of an answer for as long as it goes on, and ends it once its user may see the agent no more. Where
 * that can't be known, the answer ends with the last pass. So a right that is taken away ends it within five minutes.
 */
function renewWhileAllowed(
  passes: AgentPasses,
  asked: PassAsked,
  pass: HeldPass,
  /** Aborted when the answer is over. */
  until: AbortSignal,
  end: () => void,
): void {
  let held = pass;
  let timer: NodeJS.Timeout;
  const wait = (milliseconds: number): void =>
    void (timer = setTimeout(() => void renew(), milliseconds).unref());
  const renew = async (): Promise<void> => {
    try {
      held = await passes.getPass(asked);
      if (!until.aborted) wait(Math.max(PACE, held.renewAt - Date.now()));
    } catch (error) {
      const left = held.endsAt - Date.now();
      if (until.aborted) return;
      if (isRefused(error) || left <= 0) end();
      else wait(Math.min(RETRY, left));
    }
  };
  wait(Math.max(0, pass.renewAt - Date.now()));
  until.addEventListener('abort', () => clearTimeout(timer), { once: true });
  if (until.aborted) clearTimeout(timer!);
}

const isRefused = (error: unknown): boolean =>
  [Unauthorized, Forbidden, NotFound].some((kind) => error instanceof kind);
