import type { Log } from '../../log.ts';
import type { RunKwargs } from '../../schema/agent/run.ts';
import { RUN_DONE, runDone, type Cursor, type RunEvent } from '../../schema/agent/stream-event.ts';
import { runFields, type TracedCall } from '../kernel/run-fields.ts';
import { buildThreadKey, type Bus } from './bus.ts';
import type { StreamLog } from './log.ts';
import { isInputRequest, isProtocolEvent } from './event-name.ts';

type Deps = {
  bus: Bus;
  eventLog: StreamLog;
  /** Bytes of the largest message that streams carry. */
  maxEventBytes: number;
  log: Log;
};

/** A run under way, as its readers know it. */
export type PublishedRun = {
  run: {
    run_id: string;
    thread_id: string;
    attempt?: number;
    resumable: boolean;
    kwargs?: RunKwargs & TracedCall;
  };
  /** The cursor of its last event. */
  at: Cursor;
  /** The cursor of its last event that readers elsewhere, or later ones, find; undefined when there is none. */
  logged?: Cursor | undefined;
  /** The number of its thread's last protocol event: a thread has one running run, which counts them. */
  thread_seq: number;
  /** The other processes that read it, or its thread. */
  readers: Set<string>;
  /** Settles when readers in this process have all that was published; undefined when they have it already. */
  delivered?: Promise<void> | undefined;
};

/** Numbers the events of runs, and hands them to readers in this process and elsewhere. */
export class Publisher {
  readonly #deps: Deps;
  /** Counts the messages that were too large. */
  skipped = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Publishes events of the run, in their order; `now`: the milliseconds that their ids begin with. */
  publish(published: PublishedRun, batch: [event: string, json: string][], now = Date.now()): void {
    const { run_id, thread_id, attempt, kwargs } = published.run;
    const events = batch
      .filter((one) => this.#isPublishable(published.run, one))
      .map(([event, json]): RunEvent => {
        published.at = { ms: Math.max(now, published.at.ms), seq: published.at.seq + 1 };
        if (!isProtocolEvent(event)) return { ...published.at, event, json };
        published.thread_seq += 1;
        return { ...published.at, event, json, thread_seq: published.thread_seq };
      });
    if (events.length === 0) return;
    const publishEvents = (): void => {
      for (const key of buildKeys(published))
        this.#deps.bus.publish(key, { kind: 'events', run_id, events });
    };
    if (!isKept(published)) return publishEvents();
    published.logged = published.at;
    const logged = { run_id, thread_id, attempt, kwargs, context: kwargs?.encryption_context };
    this.#deps.eventLog.append(
      {
        ...logged,
        readers: published.readers,
        // Events of protocol v2 are for readers that come later, too.
        kept: published.run.resumable || published.run.kwargs?.protocol === true,
      },
      events,
    );
    const asks = events.some(({ event }) => isInputRequest(event));
    if (asks || published.delivered !== undefined)
      this.#publishInOrder(published, asks, publishEvents);
    else publishEvents();
  }

  /**
   * Sends the events to readers in this process, after those that are still on their way to them. A question waits
   * until every process can find it, because its answer may come to any of them at once.
   */
  #publishInOrder(published: PublishedRun, asks: boolean, tell: () => void): void {
    const before = published.delivered;
    const publishAfter = async (): Promise<void> => {
      await before;
      if (asks) await this.#deps.eventLog.waitUntilWritten(published.run.thread_id);
      tell();
      if (published.delivered === delivered) published.delivered = undefined;
    };
    const delivered = publishAfter();
    published.delivered = delivered;
  }

  /** Returns whether anybody reads the run's events, here or elsewhere, now or later. */
  isHeard(published: PublishedRun): boolean {
    return isKept(published) || this.#deps.bus.isHeard(buildKeys(published));
  }

  /** Calls when somebody in this process begins to read the run's events. Returns a function that ends the waiting. */
  watchForReader(published: PublishedRun, call: () => void): () => void {
    return this.#deps.bus.watchForReader(buildKeys(published), call);
  }

  /**
   * Settles when all events of the run are where readers in other processes find them, because they stop looking at its
   * end. Those that are to be kept are in the table, because the thread's next run goes on counting there.
   */
  async waitUntilStored(published: PublishedRun): Promise<void> {
    if (isKept(published)) await this.#deps.eventLog.waitUntilStored(published.run.thread_id);
    await published.delivered;
  }

  /**
   * Tells those who follow the thread that the run is over. Its result can be read by now, but the thread's next run
   * may have begun elsewhere. So the event bears the time of the last one, and stands before that run.
   */
  publishDone(published: PublishedRun): void {
    this.publish(
      published,
      [[RUN_DONE, runDone(published.run.run_id)]],
      published.at.ms || Date.now(),
    );
  }

  /**
   * Returns whether streams carry a message. One that no reader could take is left out; the run and its result stay
   * whole.
   */
  #isPublishable(run: PublishedRun['run'], [event, json]: [event: string, json: string]): boolean {
    const max = this.#deps.maxEventBytes;
    // A character takes one to three bytes, so most messages are decided without counting.
    if (json.length * 3 <= max || (json.length <= max && Buffer.byteLength(json) <= max))
      return true;
    this.skipped += 1;
    const message = { event, characters: json.length, max };
    this.#deps.log.warn(
      { ...runFields(run), ...message },
      'message is too large for streams and is left out',
    );
    return false;
  }
}

const buildKeys = ({ run: { run_id, thread_id } }: PublishedRun): string[] => [
  run_id,
  buildThreadKey(thread_id),
];

const isKept = ({ run, readers }: PublishedRun): boolean => run.resumable || readers.size > 0;
