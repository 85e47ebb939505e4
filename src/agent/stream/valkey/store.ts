import { setTimeout as wait } from 'node:timers/promises';
import type { Redis } from 'iovalkey';
import { Unavailable } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import { isAfter, type Cursor, type RunEvent } from '../../../schema/agent/stream-event.ts';
import { encodeFrame, decodeFrame, type RunPart } from './frames.ts';

/** Milliseconds after which a store that does not answer counts as gone; a live one answers within one. */
const ANSWER = 2000;
/** Milliseconds between two tries to reach it again, at most. */
const RETRY = 1000;
/** Milliseconds that a start waits for the store, which it can do without. */
const START = 2000;
/** Seconds for which the events of a run are kept whose end nobody says. */
const DAY = 86_400;
/** The most entries of a run, and the most runs of a thread, that are kept. */
const ENTRIES = 10_000;
const RUNS = 20;
/** Entries that one request reads. */
const PAGE = 500;

export type StoreListener = {
  /** Hears events that another process sent here. */
  heard(parts: RunPart[]): void;
  /** Hears that the sent events may be lost with the store. */
  lost(): void;
  /** Hears that this process may have missed events of others. */
  missed(): void;
};

/** Events of a run to store. `first`: none were stored before. `life`: how many seconds they last once it is over. */
export type StoreEntry = RunPart & { first: boolean; life: number | undefined };

/**
 * The key-value store through which processes hear each other's events. It may lose everything at any time, so each
 * writer keeps a copy until the events are elsewhere or need not be read any more. Keys: the entries of a run, each
 * with the id of its last event; the runs of a thread; and a channel for each process.
 */
export class EventStore {
  readonly #commands: Redis;
  readonly #subscriber: Redis;
  readonly #prefix: string;
  #closed = false;

  constructor(connections: { commands: Redis; subscriber: Redis }, prefix: string) {
    this.#commands = connections.commands;
    this.#subscriber = connections.subscriber;
    this.#prefix = prefix;
  }

  get isUp(): boolean {
    return this.#commands.status === 'ready';
  }

  listen(processId: string, { heard, lost, missed }: StoreListener, log: Log): void {
    const channel = this.#channelOf(processId);
    let wasUp = false;
    this.#commands.on('close', () => {
      if (wasUp && !this.#closed)
        log.warn('the key-value store is gone; streams go through the database');
      wasUp = false;
      lost();
    });
    this.#commands.on('ready', () => {
      wasUp = true;
      log.info('the key-value store answers; streams of new runs go through it');
    });
    let failure = '';
    for (const connection of [this.#commands, this.#subscriber])
      connection.on('error', (error: Error) => {
        // It is tried again every second, and one line for each reason is enough.
        if (error.message !== failure)
          log.warn({ err: error }, 'the key-value store does not answer');
        failure = error.message;
      });
    this.#subscriber.on(
      'ready',
      () =>
        void this.#subscriber
          .subscribe(channel)
          .then(missed, () => this.#subscriber.disconnect(true)),
    );
    this.#subscriber.on('message', (_channel: string, frame: string) => heard(decodeFrame(frame)));
    for (const connection of [this.#commands, this.#subscriber])
      connection.connect().catch(() => undefined);
  }

  /** Waits a little until the store answers, so that the first runs go through it. */
  async waitUntilUp(): Promise<void> {
    for (const until = Date.now() + START; !this.isUp && Date.now() < until;) await wait(10);
  }

  /**
   * Stores events, and sends them to processes. Returns which runs could not be stored, and which processes did not
   * hear. Throws `Unavailable` when the store does not answer.
   */
  async put(
    stored: StoreEntry[],
    sent: Map<string, RunPart[]>,
  ): Promise<{ refused: Set<string>; deaf: Set<string> }> {
    const pipeline = this.#commands.pipeline();
    const asked: { refused?: string; deaf?: string }[] = [];
    for (const part of stored) asked.push(...this.#store(pipeline, part));
    for (const [processId, parts] of sent) {
      pipeline.publish(this.#channelOf(processId), encodeFrame(parts));
      asked.push({ deaf: processId });
    }
    const answers = await this.#waitForAnswer(pipeline.exec());
    const outcome = { refused: new Set<string>(), deaf: new Set<string>() };
    for (const [at, [error, hearers]] of (answers ?? []).entries()) {
      const { refused, deaf } = asked[at]!;
      // An error that is no answer of the store means that it is gone.
      if (error !== null && error.name !== 'ReplyError') throw new Unavailable(error.message);
      if (refused !== undefined && error !== null) outcome.refused.add(refused);
      if (deaf !== undefined && (error !== null || hearers === 0)) outcome.deaf.add(deaf);
    }
    return outcome;
  }

  #store(
    pipeline: ReturnType<Redis['pipeline']>,
    { first, life, ...part }: StoreEntry,
  ): { refused?: string }[] {
    const { run_id, thread_id, events } = part;
    const { ms, seq } = events.at(-1)!;
    const key = this.#runKey(run_id);
    const before = pipeline.length;
    pipeline.xadd(key, 'MAXLEN', '~', ENTRIES, `${ms}-${seq}`, 'e', encodeFrame([part]));
    // Each time, because a full store may have forgotten the run, and a key without an end is never forgotten again.
    pipeline.expire(key, life ?? DAY);
    const runs = this.#threadKey(thread_id);
    if (first) pipeline.zadd(runs, Date.now(), run_id).zremrangebyrank(runs, 0, -RUNS - 1);
    // A full store looks at a few keys and forgets those that end first, so the keys of runs that are over must end
    // soon.
    if (first || life !== undefined) pipeline.expire(runs, life ?? DAY);
    return Array.from({ length: pipeline.length - before }, () => ({ refused: run_id }));
  }

  /** Returns the run's events that lie behind the cursor here, in order; none when the store does not answer. */
  async readEvents(runId: string, after: Cursor): Promise<RunEvent[]> {
    const events: RunEvent[] = [];
    if (!this.isUp) return events;
    for (let from = `(${after.ms}-${after.seq}`; ;) {
      const page = await this.#waitForAnswer(
        this.#commands.xrange(this.#runKey(runId), from, '+', 'COUNT', PAGE),
      ).catch(() => []);
      for (const [, [, frame = '']] of page)
        for (const part of decodeFrame(frame))
          events.push(...part.events.filter((one) => isAfter(one, after)));
      if (page.length < PAGE) return events;
      from = `(${page.at(-1)![0]}`;
    }
  }

  /** Returns the last runs of a thread of which events were stored, in the order in which they began. */
  async readRuns(threadId: string): Promise<string[]> {
    return this.isUp
      ? this.#waitForAnswer(this.#commands.zrange(this.#threadKey(threadId), 0, -1)).catch(() => [])
      : [];
  }

  close(): void {
    this.#closed = true;
    for (const connection of [this.#commands, this.#subscriber]) connection.disconnect();
  }

  /** A store that stands still keeps its connections, so they are opened again: until then it counts as gone. */
  async #waitForAnswer<T>(answer: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(new Unavailable('the key-value store does not answer'));
      this.#commands.disconnect(true);
    }, ANSWER);
    try {
      return await Promise.race([answer, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #runKey = (runId: string): string => `${this.#prefix}run:${runId}`;
  #threadKey = (threadId: string): string => `${this.#prefix}thread:${threadId}`;
  #channelOf = (processId: string): string => `${this.#prefix}process:${processId}`;
}

/** Opens the store. Its client is loaded only here, because most servers have no such store. */
export async function openStore({
  uri,
  prefix,
}: {
  uri: string;
  prefix: string;
}): Promise<EventStore> {
  const { Redis: Client } = await import('iovalkey');
  const open = (name: string): Redis =>
    new Client(uri, {
      connectionName: name,
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResubscribe: false,
      maxRetriesPerRequest: 0,
      connectTimeout: ANSWER,
      retryStrategy: (times) => Math.min(50 * times, RETRY),
    });
  return new EventStore({ commands: open('gx-streams'), subscriber: open('gx-readers') }, prefix);
}
