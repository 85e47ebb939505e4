import { setTimeout as wait } from 'node:timers/promises';
import type { TracingSettings } from '../../config/tracing.ts';
import { asError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { versions } from '../versions.ts';
import { otlpBody, type Span } from './span.ts';

/**
 * OpenTelemetry's defaults for a batch, and for how many spans may wait. They take some megabytes, whatever becomes of
 * the collector.
 */
const BATCH = 512;
const WAITING = 2048;

/** Statuses that ask for another try (OTLP specification). */
const LATER = [429, 502, 503, 504];
const PAUSES = [1000, 4000];

/** Milliseconds between two warnings in the log about the same collector. */
const QUIET_MILLISECONDS = 60_000;
const FAREWELL_MILLISECONDS = 3000;

/** Sends spans to a collector (OTLP over HTTP, as JSON) in bounded batches, and never makes a run wait. */
export class SpanExporter {
  readonly #settings: TracingSettings;
  readonly #log: Log;
  readonly #scope = { name: 'gx-agent-server', version: versions().version };
  readonly #closing = new AbortController();
  #waiting: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #complainedAt = -Infinity;
  /** How many spans arrived at the collector, and how many were given up. */
  readonly counts = { exported: 0, dropped: 0 };

  constructor(settings: TracingSettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  add(spans: Span[]): void {
    const room = WAITING - this.#waiting.length;
    this.#waiting.push(...spans.slice(0, room));
    this.counts.dropped += Math.max(0, spans.length - room);
    if (this.#waiting.length >= BATCH) void this.#flush();
    else this.#timer ??= setTimeout(() => void this.#flush(), this.#settings.delayMilliseconds).unref();
  }

  /** Sends the spans that wait, within some seconds. */
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
      const problem = await this.#deliver(JSON.stringify(otlpBody(batch, this.#settings.resource, this.#scope)));
      this.#waiting = this.#waiting.slice(batch.length);
      this.counts[problem === undefined ? 'exported' : 'dropped'] += batch.length;
      if (problem !== undefined) this.#complain(problem, batch.length);
    }
  }

  /** Returns the problem that remains after the last try; undefined when the batch arrived. */
  async #deliver(body: string): Promise<string | undefined> {
    for (let attempt = 0; ; attempt += 1) {
      const { status, problem } = await this.#post(body);
      const pause = PAUSES[attempt];
      const again = status === undefined || LATER.includes(status);
      if (problem === undefined || !again || pause === undefined || this.#closing.signal.aborted) return problem;
      await wait(pause, undefined, { signal: this.#closing.signal, ref: false }).catch(() => undefined);
    }
  }

  async #post(body: string): Promise<{ status?: number; problem?: string }> {
    const { url, headers, timeoutMilliseconds } = this.#settings;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        signal: AbortSignal.timeout(timeoutMilliseconds),
      });
      await response.body?.cancel();
      return { status: response.status, ...(!response.ok && { problem: `it answers ${response.status}` }) };
    } catch (thrown) {
      const error = asError(thrown);
      return { problem: error.cause === undefined ? error.message : asError(error.cause).message };
    }
  }

  #complain(problem: string, spans: number): void {
    const now = performance.now();
    if (now - this.#complainedAt < QUIET_MILLISECONDS) return;
    this.#complainedAt = now;
    this.#log.warn({ problem, spans, dropped: this.counts.dropped }, 'traces do not reach their collector');
  }
}
