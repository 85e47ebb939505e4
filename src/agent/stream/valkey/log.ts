import { toError } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import { RUN_DONE, type RunEvent } from '../../../schema/agent/stream-event.ts';
import { openEvents, sealEvents } from '../../db/fields/event-data.ts';
import type { Db } from '../../db/base/pool.ts';
import { runFields } from '../../kernel/run-fields.ts';
import type { EventLog, LoggedRun, StreamLog } from '../log.ts';
import type { EventTail } from '../tail.ts';
import type { RunPart } from './frames.ts';
import { GATHER, Sending } from './sending.ts';
import type { EventStore, StoreEntry } from './store.ts';
import { buildEventTail } from './tail.ts';

/** Characters of events that go through the store at once. Larger ones would crowd out those of other runs. */
const MOST_AT_ONCE = 4 * 1024 * 1024;
/** Characters of events that are held because only the store has them. The oldest of more go to the table. */
const MOST_HELD = 64 * 1024 * 1024;
/** Runs of which the store gets an entry with one batch, so that the entries of many do not hold up their events. */
const ENTRIES_AT_ONCE = 8;
/** Milliseconds between two entries of a run that nobody can come back to. Readers hear its events all the same. */
const ENTRY = 250;
/** Milliseconds between two writes of the events that are to be kept. */
const BEHIND = 1000;
/** Milliseconds after its end for which a run's events are held for readers elsewhere that are behind. */
const AFTER_END = 30_000;
/** Milliseconds after which a run that says nothing is held no longer. */
const SILENT = 60_000;
/** Seconds for which the store keeps the events of a run that ended, where nobody asked for more. */
const LIFE = 60;

/** A run whose events this process writes. */
type HeldRun = LoggedRun & {
  /** Once a run's events go to the table, all that follow do, so that a reader finds them in one order. */
  home: 'store' | 'table';
  /** The events that are in the store, or on their way there, and not in the table. */
  held: RunEvent[];
  /** Events that readers have heard, and that the store does not keep yet. */
  unstored: RunEvent[];
  /** When the store got an entry last; 0: never. */
  storedAt: number;
  /** When events were sent last, in milliseconds of the process's own clock. */
  sentAt: number;
  over: boolean;
  touched: number;
};

/** `store`: the store is to keep all that it does not have of the run. */
type Entry = { run: HeldRun; readers: string[]; events: RunEvent[]; store: boolean };

type Deps = {
  db: Db;
  store: EventStore;
  table: EventLog;
  wake(run: RunPart, readers: string[]): Promise<void>;
  log: Log;
};

/**
 * Hands events to readers elsewhere through the key-value store. The table gets those that are to be kept a little
 * later and in large batches; the others it gets only if the store fails. Whatever only the store has is held here. So
 * the loss of either, the store or this process, loses nothing.
 */
export class StoreLog implements StreamLog {
  readonly #deps: Deps;
  readonly lifeSeconds: number;
  readonly tail: EventTail;
  readonly counts = { byStore: 0, byTable: 0, turned: 0 };
  readonly #runs = new Map<string, HeldRun>();
  readonly #sending: Sending<Entry>;
  #opening: Promise<void> = Promise.resolve();
  #characters = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.lifeSeconds = deps.table.lifeSeconds;
    this.tail = buildEventTail(deps.store, (run_id, events) => this.#open(run_id, events));
    const send = (entries: Entry[]): Promise<{ answered: Promise<void> }> =>
      this.#sendBatch(entries);
    this.#sending = new Sending<Entry>({ isFresh, send, failed: () => this.moveAllToTable() });
    this.#timer = setInterval(() => this.#sweepRuns(), BEHIND).unref();
  }

  get isUp(): boolean {
    return this.#deps.store.isUp;
  }

  append(logged: LoggedRun, events: RunEvent[]): void {
    const run = this.#findOrCreateRun(logged);
    run.touched = Date.now();
    run.over ||= events.at(-1)?.event === RUN_DONE;
    if (run.home === 'store' && (!this.isUp || countCharacters(events) > MOST_AT_ONCE))
      this.#moveToTable(run);
    if (run.home === 'table') {
      this.counts.byTable += events.length;
      this.#deps.table.append(logged, events);
      return;
    }
    this.counts.byStore += events.length;
    run.held.push(...events);
    this.#characters += countCharacters(events);
    this.#sending.add({ run, readers: [...logged.readers], events, store: run.kept || run.over });
  }

  /** Settles when readers find all that was appended until now: in the store, or in the table. */
  async waitUntilWritten(threadId?: string): Promise<void> {
    this.#storeRest((run) => threadId === undefined || run.thread_id === threadId);
    await this.#sending.waitUntilSent();
    await this.#deps.table.waitUntilWritten(threadId);
  }

  /** Settles when the table has all that is to be kept, of one thread or of all. */
  async waitUntilStored(threadId?: string): Promise<void> {
    await this.waitUntilWritten(threadId);
    for (const run of this.#runs.values())
      if (run.kept && (threadId === undefined || run.thread_id === threadId))
        this.#flushToTable(run);
    await this.#deps.table.waitUntilWritten(threadId);
  }

  /** Gives all that only the store has to the table, because this process ends. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    for (const run of this.#runs.values()) this.#flushToTable(run);
    await this.#deps.table.waitUntilWritten();
    this.#deps.store.close();
  }

  /** Passes on events that another process sent, in their order. */
  forwardParts(parts: RunPart[], pass: (part: RunPart) => void): void {
    const open = async (): Promise<void> => {
      for (const { run_id, thread_id, events } of parts)
        pass({ run_id, thread_id, events: await this.#open(run_id, events) });
    };
    this.#opening = this.#opening.then(open);
    this.#opening = this.#opening.catch((error: unknown) =>
      this.#deps.log.error({ err: toError(error) }, 'events of another process could not be read'),
    );
  }

  /** Has the table take over, because the store may have lost events that were sent to it. */
  moveAllToTable(): void {
    for (const run of this.#runs.values()) this.#moveToTable(run);
  }

  #open(run_id: string, events: RunEvent[]): Promise<RunEvent[]> {
    return openEvents(
      this.#deps.db,
      events.map((event) => ({ ...event, run_id })),
    );
  }

  #findOrCreateRun(logged: LoggedRun): HeldRun {
    const known = this.#runs.get(logged.run_id);
    const run: HeldRun = known ?? {
      ...logged,
      home: 'store',
      held: [],
      unstored: [],
      storedAt: 0,
      sentAt: -Infinity,
      over: false,
      touched: 0,
    };
    run.readers = logged.readers;
    run.attempt = logged.attempt;
    this.#runs.set(logged.run_id, run);
    return run;
  }

  /** Has the store keep the events of these runs that readers have heard. */
  #storeRest(which: (run: HeldRun) => boolean): void {
    for (const run of this.#runs.values())
      if (run.unstored.length > 0 && which(run))
        this.#sending.add({ run, readers: [], events: [], store: true });
  }

  /** Sends a batch. Resolves when it is on its way, with a promise that settles when the store has answered. */
  async #sendBatch(entries: Entry[]): Promise<{ answered: Promise<void> }> {
    const batch = groupByRun(entries);
    if (batch.size === 0) return { answered: Promise.resolve() };
    const stored: StoreEntry[] = [];
    const sent = new Map<string, RunPart[]>();
    for (const [run, { readers, events, store }] of batch) {
      const part = {
        run_id: run.run_id,
        thread_id: run.thread_id,
        events: await this.#sealEvents(run, events),
      };
      stored.push(
        ...this.#takeEntries(run, part, { now: store, later: stored.length >= ENTRIES_AT_ONCE }),
      );
      run.sentAt = performance.now();
      if (events.length > 0)
        for (const reader of readers) sent.set(reader, [...(sent.get(reader) ?? []), part]);
    }
    return { answered: this.#handleAnswer(batch, this.#deps.store.put(stored, sent)) };
  }

  async #handleAnswer(
    batch: Map<HeldRun, RunBatch>,
    answer: ReturnType<EventStore['put']>,
  ): Promise<void> {
    const { refused, deaf } = await answer;
    for (const [run, { readers }] of batch)
      if (refused.has(run.run_id) || [...readers].some((reader) => deaf.has(reader)))
        this.#moveToTable(run);
  }

  /** Returns the entries that the store is to keep of the run now: all that it does not have, or none yet. */
  #takeEntries(run: HeldRun, part: RunPart, is: { now: boolean; later: boolean }): StoreEntry[] {
    run.unstored.push(...part.events);
    const now = Date.now();
    if (run.unstored.length === 0 || (!is.now && (is.later || now - run.storedAt < ENTRY)))
      return [];
    const entry = {
      ...part,
      events: run.unstored,
      first: run.storedAt === 0,
      life: run.over ? this.#lifeOf(run) : undefined,
    };
    run.unstored = [];
    run.storedAt = now;
    return [entry];
  }

  async #sealEvents({ run_id, context }: HeldRun, events: RunEvent[]): Promise<RunEvent[]> {
    const texts = await sealEvents(
      this.#deps.db,
      events.map(({ json }) => ({ run_id, json, context })),
    );
    return events.map((event, at) => ({ ...event, json: texts[at]! }));
  }

  #lifeOf = ({ kept }: HeldRun): number => (kept ? this.lifeSeconds : LIFE);

  /** Sends the run's events to the table from now on, those that only the store has first, and tells its readers. */
  #moveToTable(run: HeldRun): void {
    if (run.home === 'table') return;
    run.home = 'table';
    this.counts.turned += 1;
    const readers = [...run.readers];
    const part = { run_id: run.run_id, thread_id: run.thread_id, events: [] };
    this.#flushToTable(run);
    // Earlier events may be in the table without a word to the readers.
    void this.#deps.table
      .waitUntilWritten()
      .then(() => this.#deps.wake(part, readers))
      .catch((error: unknown) =>
        this.#deps.log.warn(
          { err: toError(error), ...runFields(run) },
          'readers could not be woken',
        ),
      );
  }

  #flushToTable(run: HeldRun): void {
    const { held, run_id, thread_id, attempt, context, kwargs, kept } = run;
    if (held.length === 0) return;
    this.#drop(run);
    this.counts.byTable += held.length;
    this.#deps.table.append(
      { run_id, thread_id, attempt, context, kwargs, kept, readers: [] },
      held,
    );
  }

  #drop(run: HeldRun): void {
    this.#characters -= countCharacters(run.held);
    run.held = [];
    if (run.home === 'table') run.unstored = [];
  }

  #sweepRuns(): void {
    const now = Date.now();
    // The others store theirs with their next events.
    this.#storeRest(({ touched }) => now - touched > ENTRY);
    for (const [id, run] of this.#runs) {
      const silent = now - run.touched;
      if (run.kept || (!run.over && silent > SILENT)) this.#flushToTable(run);
      if (run.over ? silent > AFTER_END : silent > SILENT) {
        this.#drop(run);
        this.#runs.delete(id);
      }
    }
    for (const run of this.#runs.values()) {
      if (this.#characters <= MOST_HELD) return;
      this.#flushToTable(run);
    }
  }
}

const countCharacters = (events: RunEvent[]): number =>
  events.reduce((sum, { json }) => sum + json.length, 0);

/** Returns whether a run of which nothing was sent for a moment says something. */
const isFresh = ({ run, events }: Entry): boolean =>
  events.length > 0 && performance.now() - run.sentAt >= GATHER;

type RunBatch = { readers: Set<string>; events: RunEvent[]; store: boolean };

function groupByRun(entries: Entry[]): Map<HeldRun, RunBatch> {
  const batch = new Map<HeldRun, RunBatch>();
  for (const { run, readers, events, store } of entries) {
    if (run.home === 'table') continue;
    const gathered = batch.get(run) ?? { readers: new Set(), events: [], store: false };
    gathered.events.push(...events);
    gathered.store ||= store;
    for (const reader of readers) gathered.readers.add(reader);
    batch.set(run, gathered);
  }
  return batch;
}
