import { createHash } from 'node:crypto';
import { Forbidden, NotFound, Problem, Unauthorized, Unavailable } from '../../errors.ts';
import { readText } from '../../http/bodies/bounded-answer.ts';
import { SharedAnswers } from '../../http/limits/shared-answers.ts';
import type { AgentPass } from '../../schema/wire/agent-pass.ts';
import type { ControlPlaneDoor } from '../control-plane.ts';
import { buildInwardHeaders, type SentAlong } from '../headers.ts';

/** The part of a pass's time for which it is used. The rest is for asking for the next one. */
const USED = 0.8;
/** Passes that are kept. Beyond that, the oldest goes first. */
const MOST = 2000;
/** Milliseconds for which a pass is new. An agent that refuses a new one would refuse the next one as well. */
const NEW = 2000;
/** Milliseconds that the control plane has for an answer. */
const PATIENCE = 10_000;
/** Bytes of its answer: a pass and some names. */
const MAX_ANSWER_BYTES = 65_536;

/** Whose session asks for which deployment. `tenant`: that of X-Tenant-Id. */
export type PassAsked = SentAlong & { tenant: string | undefined; deploymentId: string };

/** A pass, with its times in milliseconds since 1970: when it came, when the next one is due, and when it ends. */
export type HeldPass = AgentPass & { madeAt: number; renewAt: number; endsAt: number };

/** Gets passes with the keys of sessions, and keeps each while it is good. */
export class AgentPasses {
  readonly #door: ControlPlaneDoor;
  readonly #kept = new Map<string, HeldPass>();
  readonly #asking = new SharedAnswers<HeldPass>();

  constructor(door: ControlPlaneDoor) {
    this.#door = door;
  }

  /**
   * Returns a pass that is good for some time. Throws the control plane's refusal: `Unauthorized` for a key that it
   * does not take any more.
   */
  async getPass(asked: PassAsked): Promise<HeldPass> {
    const name = hashAsked(asked);
    const known = this.#kept.get(name);
    if (known !== undefined && Date.now() < known.renewAt) return known;
    return this.#asking.getOrAsk(name, async () => this.#keep(name, await this.#ask(asked)));
  }

  /** Returns another pass in place of one that the agent has refused; undefined where there is no newer one. */
  async renewPass(asked: PassAsked, { pass, madeAt }: HeldPass): Promise<HeldPass | undefined> {
    const name = hashAsked(asked);
    // Each pass costs the control plane a look at a Secret, and agents may refuse all of them.
    if (Date.now() - madeAt < NEW) return undefined;
    if (this.#kept.get(name)?.pass === pass) this.#kept.delete(name);
    return this.getPass(asked);
  }

  /** A sleeper may wake at any moment, so that its pass is not kept. */
  #keep(name: string, pass: HeldPass): HeldPass {
    this.#kept.delete(name);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= MOST && oldest !== undefined) this.#kept.delete(oldest);
    if (pass.asleep_since === null) this.#kept.set(name, pass);
    return pass;
  }

  async #ask({ deploymentId, tenant, ...along }: PassAsked): Promise<HeldPass> {
    const given = {
      accept: 'application/json',
      ...(tenant !== undefined && { 'x-tenant-id': tenant }),
    };
    const answer = await this.#door.ask({
      method: 'POST',
      path: `/v2/deployments/${deploymentId}/agent-pass`,
      headers: buildInwardHeaders(given, along),
      body: undefined,
      // One answer may serve several requests, so that it does not end with the client of the first.
      signal: AbortSignal.timeout(PATIENCE),
    });
    const body = await readText(answer, MAX_ANSWER_BYTES);
    if (answer.statusCode !== 200)
      throw toRefusal(answer.statusCode ?? 0, body, answer.headers['retry-after']);
    const pass = JSON.parse(body) as AgentPass;
    const [now, endsAt] = [Date.now(), Date.parse(pass.expires_at)];
    return { ...pass, madeAt: now, endsAt, renewAt: now + USED * (endsAt - now) };
  }
}

/** A key is a secret, so that only its hash stands in memory for longer than a request. */
const hashAsked = ({ key, tenant, deploymentId }: PassAsked): string =>
  createHash('sha256')
    .update(JSON.stringify([key, tenant ?? null, deploymentId]))
    .digest('base64');

function toRefusal(status: number, body: string, retryAfter = '10'): Problem {
  const detail = readDetail(body) ?? `The control plane answered with ${status}.`;
  if (status === 401) return new Unauthorized(detail);
  if (status === 403) return new Forbidden(detail);
  if (status === 404 || status === 422) return new NotFound(detail);
  if (status === 429) return new Problem(429, detail, { headers: { 'retry-after': retryAfter } });
  return new Unavailable(`The control plane gives no pass: ${detail}`);
}

function readDetail(body: string): string | undefined {
  try {
    const { detail } = JSON.parse(body) as { detail?: unknown };
    return typeof detail === 'string' ? detail : undefined;
  } catch {
    return undefined;
  }
}
