import { setTimeout as wait } from 'node:timers/promises';
import type { CollectorSettings } from '../../config/tracing.ts';
import { asError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { slept } from '../../pause.ts';
import type { Span } from '../../schema/wire/wall/run-in-thread.ts';
import { versions } from '../kernel/versions.ts';
import { otlpLogs } from './log-line.ts';
import { otlpBody } from './span.ts';

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

type Scope = { name: string; version: string };
type Sent<T> = {
  settings: CollectorSettings;
  /** Returns the body of a request, in the JSON form of OTLP. */
  body: (batch: T[], resource: Record<string, string>, scope: Scope) => object;
  /** Hears now and then that a batch was given up. */
  complain: (problem: string, lost: { batch: number; dropped: number }) => void;
};

/** Sends records to a collector (OTLP over HTTP, as JSON) in bounded batches, and never makes anybody wait. */
class OtlpExporter<T> {
  readonly #sent: Sent<T>;
  readonly #scope = { name: 'gx-agent-server', version: versions().version };
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
    else this.#timer ??= setTimeout(() => void this.#flush(), this.#sent.settings.delayMilliseconds).unref();
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
      const problem = await this.#deliver(JSON.stringify(this.#sent.body(batch, this.#sent.settings.resource, this.#scope)));
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
      await slept(pause, this.#closing.signal);
    }
  }

  async #post(body: string): Promise<{ status?: number; problem?: string }> {
    const { url, headers, timeoutMilliseconds } = this.#sent.settings;
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

  #complain(problem: string, batch: number): void {
    const now = performance.now();
    if (now - this.#complainedAt < QUIET_MILLISECONDS) return;
    this.#complainedAt = now;
    this.#sent.complain(problem, { batch, dropped: this.counts.dropped });
  }
}

/** Sends spans, and logs how many are lost. */
export class SpanExporter extends OtlpExporter<Span> {
  constructor(settings: CollectorSettings, log: Log) {
    super({
      settings,
      body: otlpBody,
      complain: (problem, { batch, dropped }) => log.warn({ problem, spans: batch, dropped }, 'traces do not reach their collector'),
    });
  }
}

/** Characters of the longest line that is sent. */
const LONGEST = 65_536;

/** Sends lines of the log. Losses are reported by `warn`, which may be a line of the same log. */
export class LogExporter extends OtlpExporter<string> {
  constructor(settings: CollectorSettings, warn: (facts: object, message: string) => void) {
    super({
      settings,
      body: otlpLogs,
      complain: (problem, { batch, dropped }) => warn({ problem, lines: batch, dropped }, 'lines of the log do not reach their collector'),
    });
  }

  line(line: string): void {
    if (line.length <= LONGEST) this.add([line]);
    else this.counts.dropped += 1;
  }
}
