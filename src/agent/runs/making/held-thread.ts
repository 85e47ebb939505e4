import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Conflict, NotFound } from '../../../errors.ts';
import { TurnsByName } from '../../../http/limits/turns.ts';
import type { Patterns } from '../../db/base/permits.ts';
import { holdOn, holdThread, releaseThread, loadWaitingRun } from '../../db/runs/thread-holds.ts';
import { wakeWorkers, type WakeDeps } from './insert.ts';

/**
 * Seconds for which a thread stays held after its holder was last heard, the time that the death of a process costs the
 * thread; and milliseconds between two signs of life.
 */
const SECONDS = 15;
const RENEWED = 5000;

/** Milliseconds between two looks at a thread that another process holds, and those after which a caller is refused. */
const LOOK = 50;
const MOST_WAIT = 60_000;

const HAS_RUNS = 'Thread has pending or running runs; its state can be changed once they are over.';
const TAKEN = 'Another request is changing the state of this thread; try again once it is over.';

type Held = { threadId: string; changeable: Patterns };

/**
 * Does work while no run of the thread begins. It holds no database connection, however long the work takes, and one
 * who comes second waits for their turn. Throws `Conflict` while the thread has runs.
 */
export class HeldThreads {
  readonly #deps: WakeDeps;
  readonly #turns = new TurnsByName({ all: Infinity, each: 1 });

  constructor(deps: WakeDeps) {
    this.#deps = deps;
  }

  runWhileHeld<T>(held: Held, work: (holder: string) => Promise<T>): Promise<T> {
    return this.#turns.run(held.threadId, () => this.#hold(held, work));
  }

  async #hold<T>({ threadId, changeable }: Held, work: (holder: string) => Promise<T>): Promise<T> {
    const { db } = this.#deps;
    const hold = { holder: randomUUID(), seconds: SECONDS };
    for (const until = performance.now() + MOST_WAIT; ; await wait(LOOK)) {
      const found = await holdThread(db, threadId, { ...hold, changeable });
      if (found === 'held') break;
      if (found === 'gone') throw new NotFound(`Thread with ID ${threadId} not found`);
      if (found === 'busy') throw new Conflict(HAS_RUNS);
      if (performance.now() > until) throw new Conflict(TAKEN);
    }
    // A sign of life that is lost is followed by others.
    const timer = setInterval(
      () => void holdOn(db, threadId, hold).catch(() => undefined),
      RENEWED,
    ).unref();
    try {
      return await work(hold.holder);
    } finally {
      clearInterval(timer);
      await this.#release(threadId, hold.holder);
    }
  }

  /** Lets go of the thread, and wakes a worker for a run that came meanwhile. */
  async #release(threadId: string, holder: string): Promise<void> {
    const { db, tickets, log } = this.#deps;
    try {
      await releaseThread(db, threadId, holder);
      const waiting = await loadWaitingRun(db, threadId);
      if (waiting === undefined) return;
      await tickets.send(db, { ...waiting, thread_id: threadId });
      wakeWorkers(this.#deps, waiting);
    } catch (error) {
      // The hold ends by itself, and workers find the run a little later.
      log.warn({ err: error, thread_id: threadId }, 'a thread could not be let go');
    }
  }
}
