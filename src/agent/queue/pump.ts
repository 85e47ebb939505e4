import { setTimeout as wait } from 'node:timers/promises';
import { asError, Conflict } from '../../errors.ts';
import type { JobSettings } from '../../config/agent.ts';
import type { Log } from '../../log.ts';
import { Pause } from '../../pause.ts';
import { claimByTickets, claimThreads, stragglers, type Claimed } from '../db/runs/leases.ts';
import type { Database } from '../db/base/pool.ts';
import type { Tickets } from './tickets.ts';

export type PumpDeps = {
  db: Database;
  tickets: Tickets;
  jobs: JobSettings;
  worker: string;
  graphs: string[];
  log: Log;
  running: () => number;
  /** Executes a run. Settles when it is over, with its thread if another run waits there. Never fails. */
  execute: (run: Claimed) => Promise<string | undefined>;
};

/** Milliseconds between two looks at the queue when nobody wakes it: a safety net, since workers are woken. */
const POLL = 1500;

/**
 * Milliseconds that a stopping process gives a run that is being made to start here, and those between two looks for
 * it.
 */
const SEATED_WITHIN = 5000;
const SEAT_LOOK = 5;

/** A slot that is kept for one run. */
export type Seat = { worker: string; leaseSeconds: number; start(run: Claimed): void; release(): void };

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
    return !this.#stopped && !this.#backlog && this.#free() > 0;
  }

  /**
   * Reserves a slot for a run that is being made, if the run would start here at once. `release` gives the slot back,
   * also after the run has started.
   */
  seat(): Seat | undefined {
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

  /** Says that there may be something to take. */
  poke(): void {
    this.#poked = true;
    this.#pause.end();
  }

  /**
   * Executes a run. Afterwards the next run of its thread starts at once, or queues behind those that wait for a slot.
   */
  async #execute(run: Claimed): Promise<void> {
    const next = await this.#deps.execute(run);
    if (next !== undefined && !this.#stopped) {
      if (this.#backlog || this.#free() === 0)
        await this.#deps.tickets.send(this.#deps.db, { run_id: next, thread_id: next }).catch(this.#failed);
      else await this.#holding(1, () => this.#claim([next])).catch(this.#failed);
    }
    // Without a backlog the last look left nothing behind, and whatever has come since then has poked.
    if (this.#backlog) this.poke();
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
    this.#deps.log.warn({ err: asError(error) }, 'queue could not be read');
  };

  #free(): number {
    return Math.max(0, this.#deps.jobs.slots - this.#deps.running() - this.#reserved);
  }

  async #holding<T>(slots: number, work: () => Promise<T>): Promise<T> {
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
      const more = await this.#once().catch((error: unknown) => {
        this.#failed(error);
        return false;
      });
      this.#lastLook = performance.now();
      if (!more && !this.#poked && !this.#stopped) await this.#pause.for(POLL);
    }
  }

  /** Looks once. True when there is probably more to take right now. */
  async #once(): Promise<boolean> {
    const free = this.#free();
    if (free === 0) {
      this.#backlog = true;
      return false;
    }
    return this.#holding(free, () => this.#take(free));
  }

  async #take(free: number): Promise<boolean> {
    const { db, tickets, jobs, worker, graphs } = this.#deps;
    const claim = { worker, leaseSeconds: jobs.leaseSeconds, graphs };
    const take = tickets.take(free, (part) => claimByTickets(db, part, claim));
    const taken = await take.catch((error: unknown) => {
      // Another process took one of the threads at the same moment; the tickets of the others are still there.
      if (error instanceof Conflict) return undefined;
      throw error;
    });
    if (taken === undefined) return true;
    // Fewer than were asked for means that none is left.
    this.#backlog = taken.tickets.length >= free;
    for (const run of taken.runs) void this.#execute(run);
    if (taken.tickets.length === 0) await this.#late(free);
    return this.#backlog;
  }

  /**
   * Takes runs whose turn came without a ticket, because the worker of the run before them died or another revision
   * passed them over.
   */
  async #late(free: number): Promise<void> {
    const now = performance.now();
    if (now - this.#lookedAt < POLL) return;
    this.#lookedAt = now;
    const threads = await stragglers(this.#deps.db, { graphs: this.#deps.graphs, limit: free });
    if (threads.length > 0) await this.#claim(threads);
  }

  async #claim(threadIds: string[]): Promise<void> {
    const { db, jobs, worker, graphs } = this.#deps;
    const take = (ids: string[]): Promise<Claimed[]> => claimThreads(db, ids, { worker, leaseSeconds: jobs.leaseSeconds, graphs });
    const claimed = await take(threadIds).catch(async (error: unknown) => {
      if (!(error instanceof Conflict)) throw error;
      return oneByOne(threadIds, take);
    });
    for (const run of claimed) void this.#execute(run);
  }
}

/**
 * Takes the threads one by one, because another process took one of them at the same moment and the others may be free.
 */
async function oneByOne(threadIds: string[], take: (ids: string[]) => Promise<Claimed[]>): Promise<Claimed[]> {
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
