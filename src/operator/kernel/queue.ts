export type Priority = 'live' | 'background';

const FIRST_DELAY = 5;
const LONGEST_DELAY = 300_000;

export type QueueObserver = {
  added(): void;
  depth(depth: number): void;
  started(queuedSeconds: number): void;
  done(workSeconds: number): void;
  retried(): void;
  /** Called once, with a function that returns when the work under way began, by performance.now(). */
  asks(starts: () => Iterable<number>): void;
};

const deaf: QueueObserver = {
  added() {},
  depth() {},
  started() {},
  done() {},
  retried() {},
  asks() {},
};

/** Returns the milliseconds before the next attempt: they double with each failure, and up to half is random. */
export const chooseRetryDelay = (failures: number, random: number): number =>
  Math.min(FIRST_DELAY * 2 ** failures, LONGEST_DELAY) * (1 - random / 2);

/**
 * Holds keys to work on. A key waits only once and is never worked on twice at a time. A key that is added while it is
 * worked on comes again afterwards. Live changes go before those of a start or a relist. After its work a key rests,
 * and changes in that time are handled together.
 */
export class WorkQueue {
  readonly #waiting: Record<Priority, Map<string, number>> = {
    live: new Map(),
    background: new Map(),
  };
  readonly #active = new Map<string, number>();
  readonly #again = new Map<string, Priority>();
  readonly #failures = new Map<string, number>();
  readonly #timers: Record<Priority, Map<string, { due: number; timer: NodeJS.Timeout }>> = {
    live: new Map(),
    background: new Map(),
  };
  /** When each key's rest after its work ends, the earliest first. */
  readonly #rests = new Map<string, number>();
  readonly #takers: ((key: string | undefined) => void)[] = [];
  readonly #observer: QueueObserver;
  readonly #pace: number;
  readonly #isOpen: () => boolean;
  #closed = false;

  /**
   * `pace` is the time in milliseconds that a key rests after its work. `isOpen` says whether keys are handed out now;
   * see `resume`.
   */
  constructor(observer: QueueObserver = deaf, pace = 0, isOpen = () => true) {
    this.#observer = observer;
    this.#pace = pace;
    this.#isOpen = isOpen;
    observer.asks(() => this.#active.values());
  }

  get depth(): number {
    return this.#waiting.live.size + this.#waiting.background.size;
  }

  get active(): number {
    return this.#active.size;
  }

  add(key: string, priority: Priority = 'live'): void {
    const rest = (this.#rests.get(key) ?? 0) - performance.now();
    if (rest > 0 && !this.#active.has(key)) this.addAfter(key, rest, priority);
    else this.#enqueue(key, priority);
  }

  #enqueue(key: string, priority: Priority): void {
    if (this.#closed) return;
    if (this.#active.has(key)) {
      if (this.#again.get(key) !== 'live') this.#again.set(key, priority);
      return;
    }
    if (this.#waiting.live.has(key)) return;
    if (this.#waiting.background.has(key) && priority === 'background') return;
    this.#waiting.background.delete(key);
    this.#waiting[priority].set(key, performance.now());
    this.#observer.added();
    this.#observer.depth(this.depth);
    this.#serveTakers();
  }

  /** Adds the key later. Of several requests with one priority, the earliest counts. */
  addAfter(key: string, milliseconds: number, priority: Priority = 'live'): void {
    if (this.#closed) return;
    const timers = this.#timers[priority];
    const due = performance.now() + milliseconds;
    const known = timers.get(key);
    if (known !== undefined && known.due <= due) return;
    clearTimeout(known?.timer);
    const timer = setTimeout(() => {
      timers.delete(key);
      this.#enqueue(key, priority);
    }, milliseconds);
    timers.set(key, { due, timer });
  }

  /** Adds the key after its back-off. */
  retry(key: string): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#observer.retried();
    this.addAfter(key, chooseRetryDelay(failures, Math.random()));
  }

  /** Forgets the key's failures: its next one starts from the first delay. */
  clearFailures(key: string): void {
    this.#failures.delete(key);
  }

  /** Waits for the next key and returns it; undefined once the queue is closed. */
  take(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#takers.push(resolve);
      this.#serveTakers();
    });
  }

  /** Hands out keys to waiting workers again. */
  resume(): void {
    this.#serveTakers();
  }

  finish(key: string): void {
    const started = this.#active.get(key);
    if (started !== undefined) this.#observer.done((performance.now() - started) / 1000);
    this.#active.delete(key);
    this.#startRest(key);
    const again = this.#again.get(key);
    this.#again.delete(key);
    if (again !== undefined) this.add(key, again);
  }

  #startRest(key: string): void {
    const now = performance.now();
    this.#rests.delete(key);
    if (this.#pace > 0) this.#rests.set(key, now + this.#pace);
    for (const [other, until] of this.#rests) {
      if (until > now) return;
      this.#rests.delete(other);
    }
  }

  /** Closes the queue, which then hands out no more keys. Work under way finishes. */
  close(): void {
    this.#closed = true;
    for (const timers of Object.values(this.#timers)) {
      for (const { timer } of timers.values()) clearTimeout(timer);
      timers.clear();
    }
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #serveTakers(): void {
    if (this.#closed) {
      for (const taker of this.#takers.splice(0)) taker(undefined);
      return;
    }
    while (this.#takers.length > 0 && this.#isOpen()) {
      const from = this.#waiting.live.size > 0 ? this.#waiting.live : this.#waiting.background;
      const next = from.entries().next().value;
      if (next === undefined) return;
      const [key, since] = next;
      from.delete(key);
      // The key was due later and is handled now.
      for (const timers of Object.values(this.#timers)) {
        clearTimeout(timers.get(key)?.timer);
        timers.delete(key);
      }
      this.#active.set(key, performance.now());
      this.#observer.started((performance.now() - since) / 1000);
      this.#observer.depth(this.depth);
      this.#takers.shift()?.(key);
    }
  }
}
