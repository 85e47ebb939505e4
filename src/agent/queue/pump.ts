import { setTimeout as wait } from 'node:timers/promises';
import { toError, Conflict } from '../../errors.ts';
import type { JobSettings } from '../../config/agent/agent.ts';
import type { Log } from '../../log.ts';
import { Pause } from '../../pause.ts';
import { claimByTickets, claimThreads, loadStragglers, type Claimed } from '../db/runs/leases.ts';
import type { Database } from '../db/base/pool.ts';
import { loadWaitingRun } from '../db/runs/thread-holds.ts';
import type { Tickets } from './tickets.ts';

export type PumpDeps = {
  db: Database;
  tickets: Tickets;
  jobs: JobSettings;
  worker: string;
  graphs: string[];
  revision: string | undefined;
  log: Log;
  running: () => number;
  /** Executes a run. Settles when it is over, with its thread if another run waits there. Never fails. */
  execute: (run: Claimed) => Promise<string | undefined>;
  /** Wakes workers of a revision whose runs have no ticket. */
  tell: (revision: string) => Promise<void>;
};

/** Milliseconds between two looks at the queue when nobody wakes it: a safety net, since workers are woken. */
const POLL = 1500;

/**
 * Milliseconds that a stopping process gives a run that is being made to start here, and those between two looks for
 * it.
 */
const SEATED_WITHIN = 5000;
const SEAT_LOOK = 5;

/** Seconds for which a run is left to its ticket. */
const PATIENCE = 1;

/**
 * Looks that may take all they can from the worker's own queue, before one begins with the queue that all share. So
 * neither waits forever behind the other, and a busy worker rarely asks an empty queue.
 */
const OWN_IN_A_ROW = 8;

/** A slot that is kept for one run. */
export type Seat = {
  worker: string;
  leaseSeconds: number;
  start(run: Claimed): void;
  release(): void;
};

/** Takes tickets whenever there is a free slot, claims the runs they point at, and starts them. */
export class Pump {
  readonly #deps: PumpDeps;
  #loop: Promise<void> | undefined;
  #stopped = false;
  #poked = false;
  readonly #pause = new Pause();
  #backlog = false;
  #lookedAt = 0;
  #lastLook = performance.now();
  /** Set while there may be runs here that have no ticket. */
  #seeks = false;
  /** Looks in a row that the own queue alone has filled. */
  #filled = 0;
  /** Slots promised to runs that are being claimed. */
  #reserved = 0;

  constructor(deps: PumpDeps) {
    this.#deps = deps;
  }

  get works(): boolean {
    return this.#deps.jobs.slots > 0;
  }

  /** True when a new run would start here at once, so that nobody else needs to be notified of it. */
  get hasRoom(): boolean {
    return !this.#stopped && !this.#backlog && this.#countFree() > 0;
  }

  /**
   * Reserves a slot for a run that is being made, if the run would start here at once. `release` gives the slot back,
   * also after the run has started.
   */
  reserveSeat(): Seat | undefined {
    if (!this.hasRoom) return undefined;
    this.#reserved += 1;
    const { worker, jobs } = this.#deps;
    return {
      worker,
      leaseSeconds: jobs.leaseSeconds,
      start: (run) => void this.#execute(run),
      release: () => void (this.#reserved -= 1),
    };
  }

  /**
   * Milliseconds since the last look at the queue ended. Much more than the poll interval means that looks have
   * stopped.
   */
  get silentFor(): number {
    return this.works && !this.#stopped ? performance.now() - this.#lastLook : 0;
  }

  start(): void {
    if (this.works) this.#loop = this.#run();
  }

  wake(): void {
    this.#poked = true;
    this.#pause.end();
  }

  /**
   * Says that there may be something to take. Runs of these revisions have no ticket: those of the worker's own are
   * looked for at once.
   */
  wakeForRevisions(revisions?: string[]): void {
    const { revision } = this.#deps;
    if (revisions !== undefined && (revision === undefined || !revisions.includes(revision)))
      return;
    if (revisions !== undefined) this.#seeks = true;
    this.wake();
  }

  /**
   * Executes a run. Afterwards the next run of its thread starts at once, or queues behind those that wait for a slot.
   */
  async #execute(run: Claimed): Promise<void> {
    const next = await this.#deps.execute(run);
    if (next !== undefined && !this.#stopped) await this.#takeNext(next).catch(this.#failed);
    // Without a backlog the last look left nothing behind, and whatever has come since then has poked.
    if (this.#backlog) this.wake();
  }

  async #takeNext(threadId: string): Promise<void> {
    const { db, tickets, revision } = this.#deps;
    const isFull = this.#backlog || this.#countFree() === 0;
    const claimed = isFull ? 0 : await this.#runReserving(1, () => this.#claim([threadId]));
    if (claimed > 0 || (revision === undefined && !isFull)) return;
    const waiting =
      revision === undefined
        ? { run_id: threadId, revision: null }
        : await loadWaitingRun(db, threadId);
    if (waiting === undefined) return;
    if (!tickets.has(waiting.revision)) await this.#deps.tell(waiting.revision!);
    else if (isFull) await tickets.send(db, { ...waiting, thread_id: threadId });
  }

  /** Takes nothing more, and waits for the runs that are being made here. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pause.end();
    await this.#loop;
    const until = performance.now() + SEATED_WITHIN;
    while (this.#reserved > 0 && performance.now() < until) await wait(SEAT_LOOK);
  }

  readonly #failed = (error: unknown): void => {
    this.#deps.log.warn({ err: toError(error) }, 'queue could not be read');
  };

  #countFree(): number {
    return Math.max(0, this.#deps.jobs.slots - this.#deps.running() - this.#reserved);
  }

  async #runReserving<T>(slots: number, work: () => Promise<T>): Promise<T> {
    this.#reserved += slots;
    try {
      return await work();
    } finally {
      this.#reserved -= slots;
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#poked = false;
      const more = await this.#lookOnce().catch((error: unknown) => {
        this.#failed(error);
        return false;
      });
      this.#lastLook = performance.now();
      if (!more && !this.#poked && !this.#stopped) await this.#pause.waitFor(POLL);
    }
  }

  /** Looks once. True when there is probably more to take right now. */
  async #lookOnce(): Promise<boolean> {
    const free = this.#countFree();
    if (free === 0) {
      this.#backlog = true;
      return false;
    }
    return this.#runReserving(free, () => this.#take(free));
  }

  async #take(free: number): Promise<boolean> {
    let [tickets, runs] = [0, 0];
    for (const queue of this.#listQueues()) {
      const taken = await this.#takeFrom(queue, free - tickets).catch((error: unknown) => {
        // Another process took one of the threads at the same moment; the tickets of the others are still there.
        if (error instanceof Conflict) return undefined;
        throw error;
      });
      if (taken === undefined) return true;
      tickets += taken.tickets.length;
      runs += taken.runs.length;
      for (const run of taken.runs) void this.#execute(run);
      this.#filled = queue === 'own' && taken.tickets.length >= free ? this.#filled + 1 : 0;
      if (tickets >= free) break;
    }
    // Fewer than were asked for means that none is left.
    this.#backlog = tickets >= free;
    if ((tickets === 0 || this.#seeks) && runs < free) await this.#takeLate(free - runs);
    return this.#backlog;
  }

  /** Returns the queues to look into, in this order until all slots are taken. */
  #listQueues(): ('own' | 'shared')[] {
    if (!this.#deps.tickets.hasOwn) return ['own'];
    return this.#filled < OWN_IN_A_ROW ? ['own', 'shared'] : ['shared', 'own'];
  }

  #takeFrom(queue: 'own' | 'shared', limit: number): ReturnType<typeof claimByTickets> {
    const { db, tickets, jobs, worker, graphs, revision } = this.#deps;
    const claim = { worker, leaseSeconds: jobs.leaseSeconds, graphs, revision };
    return tickets.take(limit, (part) => claimByTickets(db, part, claim), queue);
  }

  /**
   * Takes runs whose turn came without a ticket, because the worker of the run before them died or another revision
   * passed them over.
   */
  async #takeLate(free: number): Promise<void> {
    const now = performance.now();
    const patience = this.#seeks ? 0 : PATIENCE;
    if (patience > 0 && now - this.#lookedAt < POLL) return;
    this.#lookedAt = now;
    this.#seeks = false;
    const { db, graphs, revision } = this.#deps;
    const threads = await loadStragglers(db, { graphs, revision, limit: free, patience });
    const claimed = threads.length === 0 ? 0 : await this.#claim(threads);
    // Where there were as many as were asked for, there may be more.
    if (patience === 0 && claimed > 0 && threads.length >= free) this.#seeks = this.#backlog = true;
  }

  /** Claims the first runs of these threads, and returns how many. */
  async #claim(threadIds: string[]): Promise<number> {
    const { db, jobs, worker, graphs, revision } = this.#deps;
    const claim = { worker, leaseSeconds: jobs.leaseSeconds, graphs, revision };
    const take = (ids: string[]): Promise<Claimed[]> => claimThreads(db, ids, claim);
    const claimed = await take(threadIds).catch(async (error: unknown) => {
      if (!(error instanceof Conflict)) throw error;
      return takeOneByOne(threadIds, take);
    });
    for (const run of claimed) void this.#execute(run);
    return claimed.length;
  }
}

/**
 * Takes the threads one by one, because another process took one of them at the same moment and the others may be free.
 */
async function takeOneByOne(
  threadIds: string[],
  take: (ids: string[]) => Promise<Claimed[]>,
): Promise<Claimed[]> {
  const claimed: Claimed[] = [];
  for (const id of threadIds) {
    try {
      claimed.push(...(await take([id])));
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
    }
  }
  return claimed;
}
