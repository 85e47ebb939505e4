import { Batcher } from '../../db/base/batcher.ts';
import type { Db } from '../../db/base/pool.ts';
import type { Signals } from '../../db/base/signals.ts';
import { registerThreadReader, removeThreadReader } from '../../db/events/thread-readers.ts';
import { buildThreadKey, type Bus } from '../../stream/bus.ts';

type Deps = {
  db: Db;
  bus: Bus;
  signals: Signals;
};

/**
 * Milliseconds for which a thread without a reader here is kept, because its next run may bring a reader back, and
 * after which one that is still followed is joined.
 */
const LATER = 1000;

/** Milliseconds within which a signal has reached a worker. */
const LOOK_AGAIN = 1000;

/**
 * Holds the threads whose rows name this process as a reader. Registrations that come together share statements. A
 * thread is left some time after its last reader here.
 */
export class ThreadRegistrations {
  readonly #deps: Deps;
  readonly #registered = new Set<string>();
  readonly #left = new Set<string>();
  readonly #toJoin = new Set<string>();
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #joining: Batcher<string, number | undefined>;
  #leaveTimer: NodeJS.Timeout | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#joining = new Batcher(async (threadIds) => {
      const last = await registerThreadReader(deps.db, threadIds, deps.signals.processId);
      return threadIds.map((id) => last.get(id));
    });
  }

  /** Returns true while workers elsewhere tell this process of the thread. */
  has(threadId: string): boolean {
    return this.#registered.has(threadId);
  }

  /**
   * Registers this process among the thread's readers, and tells all workers. Returns the number of the thread's last
   * protocol event so far; undefined when there is no such thread.
   */
  async join(threadId: string): Promise<number | undefined> {
    const { signals } = this.#deps;
    const last = await this.#joining.add(threadId);
    if (last === undefined) return undefined;
    this.#registered.add(threadId);
    if (!this.#isFollowed(threadId)) this.leaveLater(threadId);
    await signals.send({ about: 'thread-reader', thread_id: threadId, reader: signals.processId });
    return last;
  }

  /**
   * Registers this process beside the thread's readers here, and wakes those who may have missed something until then.
   * A registration that the database refuses now is tried again. Never fails.
   */
  async joinNow(threadId: string): Promise<void> {
    const joining = this.#joinAfter(this.#underWay.get(threadId), threadId);
    this.#underWay.set(threadId, joining);
    await joining;
    if (this.#underWay.get(threadId) === joining) this.#underWay.delete(threadId);
  }

  /** Joins the thread later, unless nobody here follows it by then. */
  joinLater(threadId: string): void {
    if (this.#toJoin.size === 0) setTimeout(() => this.#joinAll(), LATER).unref();
    this.#toJoin.add(threadId);
  }

  /** Leaves the thread later, unless it is followed again. */
  leaveLater(threadId: string): void {
    if (!this.has(threadId)) return;
    this.#left.add(threadId);
    this.#leaveTimer ??= setTimeout(() => void this.leaveNow(), LATER).unref();
  }

  /** Leaves the threads that nobody here follows any more. A change that the database refuses now is tried again. */
  async leaveNow(): Promise<void> {
    clearTimeout(this.#leaveTimer);
    this.#leaveTimer = undefined;
    const left = [...this.#left].filter((threadId) => !this.#isFollowed(threadId));
    this.#left.clear();
    if (left.length === 0) return;
    for (const threadId of left) this.#registered.delete(threadId);
    try {
      await removeThreadReader(this.#deps.db, left, this.#deps.signals.processId);
    } catch {
      for (const threadId of left) this.#registered.add(threadId);
      for (const threadId of left) this.leaveLater(threadId);
      return;
    }
    // A reader may have come meanwhile, whose registration was undone with this.
    await Promise.all(left.map((threadId) => this.joinNow(threadId)));
  }

  #joinAll(): void {
    const threadIds = [...this.#toJoin];
    this.#toJoin.clear();
    for (const id of threadIds) void this.joinNow(id);
  }

  /** Joins after the last registration, because the thread may have been made since that found none. */
  async #joinAfter(last: Promise<void> | undefined, threadId: string): Promise<void> {
    await last;
    if (this.has(threadId) || !this.#isFollowed(threadId)) return;
    await this.#joinAndWake(threadId).catch(() => this.joinLater(threadId));
  }

  async #joinAndWake(threadId: string): Promise<void> {
    const last = await this.join(threadId);
    if (last === undefined) return;
    const wake = (upTo?: number): void =>
      this.#deps.bus.publish(buildThreadKey(threadId), { kind: 'wake', thread_seq: upTo });
    wake(last);
    // A worker may have sent its last events before it heard of this process.
    setTimeout(wake, LOOK_AGAIN).unref();
  }

  #isFollowed(threadId: string): boolean {
    return this.#deps.bus.isFollowed(buildThreadKey(threadId));
  }
}
