import { Batcher } from '../db/batcher.ts';
import type { Db } from '../db/pool.ts';
import type { Signals } from '../db/signals.ts';
import { registerThreadReader, unregisterThreadReader } from '../db/threads.ts';
import { threadKey, type Bus } from '../stream/bus.ts';

type Deps = { db: Db; bus: Pick<Bus, 'isFollowed'>; signals: Pick<Signals, 'processId' | 'send'> };

/** Milliseconds for which a thread without a reader here is kept, because its next run may bring a reader back. */
const LEAVE_AFTER = 1000;

/**
 * Holds the threads whose rows name this process as a reader. Registrations that come together share statements. A
 * thread is left some time after its last reader here.
 */
export class ThreadRegistrations {
  readonly #deps: Deps;
  readonly #registered = new Set<string>();
  readonly #left = new Set<string>();
  readonly #joining: Batcher<string, number | undefined>;
  #timer: NodeJS.Timeout | undefined;

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
    const { bus, signals } = this.#deps;
    const { processId: reader } = signals;
    const last = await this.#joining.add(threadId);
    if (last === undefined) return undefined;
    if (bus.isFollowed(threadKey(threadId))) this.#registered.add(threadId);
    await signals.send({ about: 'thread-reader', thread_id: threadId, reader });
    return last;
  }

  /** Leaves the thread later, unless it is followed again. */
  leaveLater(threadId: string): void {
    this.#left.add(threadId);
    this.#timer ??= setTimeout(() => void this.leaveNow(), LEAVE_AFTER).unref();
  }

  /** Leaves the threads that nobody here follows any more. What the database refuses now is tried again. */
  async leaveNow(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { db, bus, signals } = this.#deps;
    const isFollowed = (threadId: string): boolean => bus.isFollowed(threadKey(threadId));
    const left = [...this.#left].filter((threadId) => !isFollowed(threadId));
    this.#left.clear();
    if (left.length === 0) return;
    for (const threadId of left) this.#registered.delete(threadId);
    try {
      await unregisterThreadReader(db, left, signals.processId);
      // A reader may have come meanwhile, whose registration was undone with this.
      await Promise.all(left.filter(isFollowed).map((threadId) => this.join(threadId)));
    } catch {
      for (const threadId of left) this.leaveLater(threadId);
    }
  }
}
