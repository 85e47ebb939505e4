import { setTimeout as wait } from 'node:timers/promises';
import { toError } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import type { Db } from '../../db/base/pool.ts';
import type { Session, SessionUse } from '../../db/base/signals.ts';
import {
  ALL_BACK,
  announceLock,
  loadFreeLocks,
  isDirect,
  lockSession,
  touch,
  deleteWorkerLock,
  type WorkerLock,
} from '../../db/base/worker-locks.ts';

type Deps = {
  db: Db;
  worker: string;
  takeOver: (dead: WorkerLock[]) => Promise<void>;
  log: Log;
};

/**
 * Milliseconds for which a lock must be free before its worker counts as dead. A live worker that has lost its session
 * withdraws the lock by another connection: within milliseconds, or some hundred of them when it is busy.
 */
const GRACE = 600;

const POOLED =
  "a pooler is between this process and the database, and keeps no lock for it: a dead worker's runs continue when its lease is over";

/**
 * Shows by a lock of its session that this worker lives, and finds workers that don't. The database sees the closed
 * connection of a killed process at once. A worker whose network is silent keeps its lock, and loses its runs when the
 * lease ends.
 */
export class DeadWorkers implements SessionUse {
  readonly #deps: Deps;
  #held: WorkerLock | undefined;
  #isAnnounced = false;
  #isPooled = false;
  /** Nobody counts as dead before this time: the end of this process's session may be the end of all sessions. */
  #blindUntil = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async begin(session: Session): Promise<void> {
    const isPooled = !(await isDirect(session));
    if (isPooled && !this.#isPooled) this.#deps.log.warn(POOLED);
    this.#isPooled = isPooled;
    if (!isPooled) await this.#hold(session);
  }

  async look(session: Session): Promise<void> {
    if (this.#isPooled) return touch(session);
    if (!this.#isAnnounced) await this.#hold(session);
    const free = await loadFreeLocks(session, this.#deps.worker);
    if (free.length === 0 || performance.now() < this.#blindUntil) return;
    await wait(GRACE, undefined, { ref: false });
    const still = new Set(
      (await loadFreeLocks(session, this.#deps.worker)).map(({ lock }) => lock),
    );
    const dead = free.filter(({ lock }) => still.has(lock));
    if (dead.length > 0) await this.#takeOver(dead);
  }

  handleLoss(): void {
    const { log } = this.#deps;
    this.#blindUntil = performance.now() + ALL_BACK * 1000;
    // A database that is away can't be reached, and it holds nobody else's lock either.
    void this.end().catch((error: unknown) =>
      log.debug({ err: toError(error) }, 'lock could not be withdrawn'),
    );
  }

  async end(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    this.#isAnnounced = false;
    if (held !== undefined) await deleteWorkerLock(this.#deps.db, held);
  }

  /** Takes the lock and announces it. A database without any room can't store it, so a later look tries again. */
  async #hold(session: Session): Promise<void> {
    const { worker, log } = this.#deps;
    this.#held ??= await lockSession(session, worker);
    if (this.#held === undefined) return;
    try {
      await announceLock(session, this.#held);
      this.#isAnnounced = true;
    } catch (error) {
      log.debug({ err: toError(error) }, 'lock could not be announced');
    }
  }

  async #takeOver(dead: WorkerLock[]): Promise<void> {
    const { takeOver, log } = this.#deps;
    await takeOver(dead).catch((error: unknown) =>
      log.warn(
        { err: toError(error) },
        'runs of dead workers could not be taken up; this will be tried again',
      ),
    );
  }
}
