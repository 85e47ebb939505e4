import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { CollectorSettings } from '../config/tracing.ts';
import { toError } from '../errors.ts';
import { sendRequest } from '../http/outgoing/checked-request.ts';
import { sleepUnlessAborted } from '../pause.ts';

/**
 * OpenTelemetry's defaults for a batch, and for how many spans or lines may wait. They take some megabytes, whatever
 * becomes of the collector.
 */
const BATCH = 512;
const WAITING = 2048;

/** Statuses that ask for another try (OTLP specification). */
const LATER = [429, 502, 503, 504];
const PAUSES = [1000, 4000];

/** Milliseconds between two warnings in the log about the same collector. */
const QUIET_MILLISECONDS = 60_000;
const FAREWELL_MILLISECONDS = 3000;

const packed = promisify(gzip);

type Sent<T> = {
  settings: CollectorSettings;
  type: string;
  body: (batch: T[]) => string | Uint8Array;
  /** Hears now and then that a batch was given up. */
  complain: (problem: string, lost: { batch: number; dropped: number }) => void;
};

type Body = { bytes: string | Uint8Array; headers: Record<string, string> };

type CollectorRequest = {
  method: string;
  headers: Record<string, string>;
  body: string | Uint8Array;
  signal: AbortSignal;
};

/** Sends a request and returns the status of the answer, over a connection that stays for the next one. */
async function postToCollector(url: string, asked: CollectorRequest): Promise<number> {
  const response = await fetch(url, asked);
  await response.body?.cancel();
  return response.status;
}

async function postThroughProxy(
  through: string,
  url: string,
  asked: CollectorRequest,
): Promise<number> {
  const answer = await sendRequest(new URL(url), { ...asked, way: { addresses: [], through } });
  answer.destroy();
  return answer.statusCode ?? 0;
}

/** Sends records to a collector (OTLP over HTTP) in bounded batches, and never makes anybody wait. */
export class OtlpExporter<T> {
  readonly #sent: Sent<T>;
  readonly #closing = new AbortController();
  #waiting: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #complainedAt = -Infinity;
  /** How many records arrived at the collector, and how many were given up. */
  readonly counts = { exported: 0, dropped: 0 };

  constructor(sent: Sent<T>) {
    this.#sent = sent;
  }

  add(records: T[]): void {
    const room = WAITING - this.#waiting.length;
    this.#waiting.push(...records.slice(0, room));
    this.counts.dropped += Math.max(0, records.length - room);
    if (this.#waiting.length >= BATCH) void this.#flush();
    else
      this.#timer ??= setTimeout(
        () => void this.#flush(),
        this.#sent.settings.delayMilliseconds,
      ).unref();
  }

  /** Sends everything that waits, within some seconds. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.race([this.#flush(), wait(FAREWELL_MILLISECONDS, undefined, { ref: false })]);
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH);
      const problem = await this.#sendWithRetries(await this.#packBody(this.#sent.body(batch)));
      this.#waiting = this.#waiting.slice(batch.length);
      this.counts[problem === undefined ? 'exported' : 'dropped'] += batch.length;
      if (problem !== undefined) this.#reportProblem(problem, batch.length);
    }
  }

  async #packBody(body: string | Uint8Array): Promise<Body> {
    const { compression } = this.#sent.settings;
    const headers = { 'content-type': this.#sent.type };
    return compression === 'gzip'
      ? { bytes: await packed(body), headers: { ...headers, 'content-encoding': 'gzip' } }
      : { bytes: body, headers };
  }

  /** Returns the problem that remains after the last try; undefined when the batch arrived. */
  async #sendWithRetries(body: Body): Promise<string | undefined> {
    for (let attempt = 0; ; attempt += 1) {
      const { status, problem } = await this.#sendOnce(body);
      const pause = PAUSES[attempt];
      const again = status === undefined || LATER.includes(status);
      if (problem === undefined || !again || pause === undefined || this.#closing.signal.aborted)
        return problem;
      await sleepUnlessAborted(pause, this.#closing.signal);
    }
  }

  async #sendOnce({ bytes, headers: own }: Body): Promise<{ status?: number; problem?: string }> {
    const { url, through, headers: given, timeoutMilliseconds } = this.#sent.settings;
    const asked = {
      method: 'POST',
      headers: { ...given, ...own },
      body: bytes,
      signal: AbortSignal.timeout(timeoutMilliseconds),
    };
    try {
      const status =
        through === undefined
          ? await postToCollector(url, asked)
          : await postThroughProxy(through, url, asked);
      return { status, ...((status < 200 || status > 299) && { problem: `it answers ${status}` }) };
    } catch (thrown) {
      const error = toError(thrown);
      return { problem: error.cause === undefined ? error.message : toError(error.cause).message };
    }
  }

  #reportProblem(problem: string, batch: number): void {
    const now = performance.now();
    if (now - this.#complainedAt < QUIET_MILLISECONDS) return;
    this.#complainedAt = now;
    this.#sent.complain(problem, { batch, dropped: this.counts.dropped });
  }
}
