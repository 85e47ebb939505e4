import type { LookupAddress } from 'node:dns';
import { setTimeout as wait } from 'node:timers/promises';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { Pause } from '../../pause.ts';
import type { RunKwargs, WebhookStatus } from '../../schema/agent/run.ts';
import { Batcher } from '../db/base/batcher.ts';
import type { Db } from '../db/base/pool.ts';
import {
  claimWebhooks,
  openWebhook,
  writeWebhookResults,
  type DueWebhook,
  type ReportedEnd,
  type ReportedPush,
  type WebhookResult,
} from '../db/webhooks/webhooks.ts';
import { isSealed } from '../encryption/codec.ts';
import { runFields, type TracedCall } from '../kernel/run-fields.ts';
import { readVersions } from '../kernel/versions.ts';
import { chooseProxy } from '../../http/outgoing/proxies.ts';
import type { Lookups } from '../../http/outgoing/lookups.ts';
import { MOST_ATTEMPTS, pauseAfter, type SendOutcome } from './outcome-rules.ts';
import { EACH, HostPlaces } from './host-places.ts';
import { isOwnPath, type OwnRouteTargets } from './own-routes.ts';
import { sendPost } from './post.ts';
import { buildSignatureHeaders } from './signature.ts';
import { checkWebhookAddress, checkWebhookUrl, type UrlPolicy } from './url-rules.ts';

/** Returns the ids of the run that the message is about. Its call is encrypted until the message is opened. */
const buildLogFields = ({
  message: { run_id, thread_id, kwargs },
}: DueWebhook): Record<string, string> =>
  runFields({ run_id, thread_id, kwargs: isSealed(kwargs) ? undefined : (kwargs as TracedCall) });

export type WebhookSending = {
  policy: UrlPolicy;
  /** False where all are skipped. */
  enabled: boolean;
  /** Sent with each, by lower-case name. */
  headers: Record<string, string>;
  /** Names of headers that gx.json has and that are sent to nobody. */
  withheld: string[];
  /** Keys that sign; none sign nothing. */
  keys: Buffer[];
  /** The fields of a body; undefined means all. */
  fields: string[] | undefined;
  timeoutSeconds: number;
};

/** Returns the body and headers of a push notification, in the form of its protocol. */
export type NotificationOf = (
  end: ReportedEnd,
  push: ReportedPush,
) => Promise<{ body: string; headers: Record<string, string> }>;

type Deps = {
  db: Db;
  worker: string;
  sending: WebhookSending;
  lookups: Lookups;
  /** Where webhooks go that stay within the process. */
  ownRoutes: OwnRouteTargets;
  notification: NotificationOf;
  log: Log;
};

/** Sent at a time in all: 16 hosts that hang leave no room, and each frees it within the time-out. */
const MOST = 256;

const CONNECT_MILLISECONDS = 5000;
/** Seconds by which a lease outlives an attempt, whose result has to be written. */
const LEASE_MARGIN = 30;
/** Milliseconds between two looks for messages that no wake-up announced. */
const LOOK = 5000;
/** Milliseconds from one look to the next at the least, so that ends that come together are claimed together. */
const APART = 25;
/** Seconds after which a message is given up, however few attempts it had: a day. */
const LIFE = 86_400;
/** Milliseconds that attempts under way get when the server stops. */
const FAREWELL = 2000;

/** Counts of attempts in this process, by outcome. */
export type WebhookCounts = Record<'sent' | 'retried' | 'failed' | 'skipped', number>;

/** Sends the ends of runs to their receivers: some at a time, each at least once and at most three times. */
export class Courier {
  readonly #deps: Deps;
  readonly #results: Batcher<WebhookResult, undefined>;
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #places = new HostPlaces(() => this.wake());
  readonly #giveUp = new AbortController();
  readonly #pause = new Pause();
  #poked = false;
  readonly counts: WebhookCounts = { sent: 0, retried: 0, failed: 0, skipped: 0 };

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#results = new Batcher(async (some: WebhookResult[]) => {
      await writeWebhookResults(deps.db, deps.worker, some);
      return some.map(() => undefined);
    });
  }

  /** How many are being sent. */
  get count(): number {
    return this.#underWay.size;
  }

  /** Looks for messages at once, or after the look that is under way. */
  wake(): void {
    this.#poked = true;
    this.#pause.end();
  }

  /** Sends messages until the signal. Never fails. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.wake());
    while (!signal.aborted) {
      this.#poked = false;
      const apart = wait(APART, undefined, { ref: false });
      try {
        await this.#claimAll(signal);
      } catch (error) {
        this.#deps.log.warn(
          { err: toError(error) },
          'webhooks could not be read; this will be tried again',
        );
        await this.#waitForWork(signal);
      }
      await apart;
      if (!this.#poked) await this.#waitForWork(signal);
    }
  }

  /** Lets attempts under way come to an end, for some seconds; others will make those that do not. */
  async close(): Promise<void> {
    await Promise.race([
      Promise.all(this.#underWay.values()),
      wait(FAREWELL, undefined, { ref: false }),
    ]);
    this.#giveUp.abort();
    await Promise.race([
      Promise.all(this.#underWay.values()),
      wait(FAREWELL, undefined, { ref: false }),
    ]);
  }

  async #waitForWork(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await this.#pause.waitFor(LOOK);
  }

  async #claimAll(signal: AbortSignal): Promise<void> {
    const { db, worker, sending } = this.#deps;
    const leaseSeconds = (CONNECT_MILLISECONDS * 2) / 1000 + sending.timeoutSeconds + LEASE_MARGIN;
    while (!signal.aborted && this.count < MOST) {
      const { claimed, more } = await claimWebhooks(db, {
        worker,
        leaseSeconds,
        room: this.#places.countFreePlaces(),
        each: EACH,
        most: MOST - this.count,
        lifeSeconds: LIFE,
      });
      for (const due of claimed) this.#begin(due);
      if (!more) return;
    }
  }

  #begin(due: DueWebhook): void {
    this.#places.take(due.host);
    const recordEnd = (failed: boolean): void => {
      const isFull = this.count >= MOST;
      this.#underWay.delete(due.run_id);
      this.#places.leave(due.host, { failed });
      // Others may have waited for this place.
      if (isFull) this.wake();
    };
    this.#underWay.set(due.run_id, this.#sendAndRecord(due).then(recordEnd));
  }

  /**
   * Makes one attempt and writes down its outcome. Returns whether it failed. Never throws: an attempt that is not
   * written down is made again.
   */
  async #sendAndRecord(due: DueWebhook): Promise<boolean> {
    const { attempts } = due;
    const { log } = this.#deps;
    try {
      const result = await this.#tryToSend(due);
      if (result.again !== null) setTimeout(() => this.wake(), result.again * 1000).unref();
      await this.#results.add(result);
      return result.status.last_error !== null;
    } catch (error) {
      log.warn(
        { err: toError(error), ...buildLogFields(due), attempts },
        'a webhook could not be read, or its outcome not be written; it will be sent again',
      );
      return true;
    }
  }

  async #tryToSend(due: DueWebhook): Promise<WebhookResult> {
    const { sending, log } = this.#deps;
    const { run_id, attempts, expired } = due;
    const recordEnd = (
      kind: keyof WebhookCounts,
      status: WebhookStatus,
      again: number | null = null,
    ): WebhookResult => {
      this.counts[kind] += 1;
      log[kind === 'failed' ? 'warn' : 'debug'](
        { ...buildLogFields(due), host: due.host, ...status },
        `webhook ${kind}`,
      );
      const without =
        sending.withheld.length > 0 && status.attempts > 0
          ? { withheld_headers: sending.withheld }
          : {};
      return { run_id, status: { ...status, ...without }, again };
    };
    if (!sending.enabled)
      return recordEnd('skipped', { state: 'skipped', attempts, last_error: null });
    if (expired)
      return recordEnd('failed', {
        state: 'failed',
        attempts,
        last_error: 'The message could not be sent within a day.',
      });
    const outcome = await this.#send(due);
    const made = attempts + 1;
    if (outcome.sent) return recordEnd('sent', { state: 'sent', attempts: made, last_error: null });
    const last_error = `The receiver ${outcome.problem}.`;
    // A server that stops has not decided on the message: another one sends it.
    if (this.#giveUp.signal.aborted)
      return { run_id, status: { state: 'pending', attempts, last_error: null }, again: 0 };
    if (!outcome.again || made >= MOST_ATTEMPTS)
      return recordEnd('failed', { state: 'failed', attempts: made, last_error });
    return recordEnd(
      'retried',
      { state: 'pending', attempts: made, last_error },
      pauseAfter(made, outcome.afterSeconds, Math.random()),
    );
  }

  async #send(due: DueWebhook): Promise<SendOutcome> {
    const { policy, timeoutSeconds } = this.#deps.sending;
    const { ownRoutes } = this.#deps;
    const message = await openWebhook(this.#deps.db, due);
    const { url } = message;
    const buildRefusal = (problem: string): SendOutcome => ({
      sent: false,
      problem: `was not called: its URL ${problem}`,
      again: false,
    });
    const isInside = isOwnPath(url) && message.push === undefined;
    const problem = isInside ? ownRoutes.checkPath(url) : checkWebhookUrl(url, policy);
    if (problem !== undefined) return buildRefusal(problem);
    const bounds = {
      connect: CONNECT_MILLISECONDS,
      whole: timeoutSeconds * 1000,
      signal: this.#giveUp.signal,
    };
    if (isInside)
      return ownRoutes.sendPost(
        { url, ...(await this.#buildRequest(due.run_id, message)) },
        bounds,
      );
    const target = new URL(url);
    const { proxies } = this.#deps.lookups;
    const through = proxies && chooseProxy(target, proxies);
    const found = await this.#resolveHost(target.hostname.replace(/^\[(.*)\]$/, '$1'));
    // A network with a proxy may resolve no outer name: then the proxy decides.
    const addresses = found ?? (through === undefined ? undefined : []);
    if (addresses === undefined)
      return {
        sent: false,
        problem: 'has no address: its name could not be resolved',
        again: true,
      };
    const forbidden = addresses
      .map(({ address }) => checkWebhookAddress(address, policy))
      .find((one) => one !== undefined);
    if (forbidden !== undefined) return buildRefusal(forbidden);
    return sendPost(
      {
        url: target,
        way: { addresses, through },
        ...(await this.#buildRequest(due.run_id, message)),
      },
      bounds,
    );
  }

  async #buildRequest(
    id: string,
    { end, push }: Awaited<ReturnType<typeof openWebhook>>,
  ): Promise<{ headers: Record<string, string>; body: string }> {
    const { headers, keys, fields } = this.#deps.sending;
    const given =
      push === undefined
        ? { body: buildBody(end, fields), headers: {} }
        : await this.#deps.notification(end, push);
    const { body } = given;
    const signed = buildSignatureHeaders(
      { id, seconds: Math.floor(Date.now() / 1000), body },
      keys,
    );
    const own = {
      'content-type': 'application/json',
      'user-agent': `gx-agent-server/${readVersions().version}`,
    };
    return {
      headers: {
        ...own,
        // They carry the trace of the request that made the run on, where it is traced.
        ...(end.kwargs as Partial<RunKwargs> | undefined)?.trace,
        ...headers,
        ...given.headers,
        ...signed,
      },
      body,
    };
  }

  /** Returns undefined when the name has no address, or no answer comes in time. */
  async #resolveHost(host: string): Promise<LookupAddress[] | undefined> {
    const late = wait(CONNECT_MILLISECONDS, undefined, { ref: false });
    const found = await Promise.race([
      this.#deps.lookups.resolveAddresses(host).catch(() => undefined),
      late,
    ]);
    return found === undefined || found.length === 0 ? undefined : found;
  }
}

/** Returns the body: the run as it ended, when it is reported, and the state of its thread. */
function buildBody({ error, ...end }: ReportedEnd, fields: string[] | undefined): string {
  const webhook_sent_at = new Date().toISOString().replace('Z', '+00:00');
  const body = { ...end, webhook_sent_at, ...(error !== null && { error }) };
  return JSON.stringify(
    fields === undefined
      ? body
      : Object.fromEntries(Object.entries(body).filter(([name]) => fields.includes(name))),
  );
}
