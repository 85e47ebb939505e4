import { isAfter, type Cursor } from '../../schema/stream-event.ts';
import { madeAt } from '../ids.ts';

/** Runs of a thread whose places are remembered: far more than can be under way, or be told late, at a time. */
const REMEMBERED = 200;
const BEGINNING: Cursor = { ms: 0, seq: 0 };

/**
 * How far each run of a thread has been told. Clocks of workers differ, and the end of one run may arrive after the beginning of the next: one place
 * for all would lose events.
 */
class Places {
  readonly #of = new Map<string, Cursor>();
  readonly #since: number | undefined;
  #start: Cursor;

  /** `since`: milliseconds, by this server's clock. Runs made later are told from their first event, whatever their workers' clocks say. */
  constructor(start: Cursor, since?: number) {
    this.#start = start;
    this.#since = since;
  }

  /** Where a reader of the run goes on; without a run, where one of all does. */
  after(runId?: string): Cursor {
    if (runId === undefined) return this.#start;
    const isLater = this.#since !== undefined && madeAt(runId) >= this.#since;
    return this.#of.get(runId) ?? (isLater ? BEGINNING : this.#start);
  }

  /** True when it is new. */
  take(runId: string, event: Cursor): boolean {
    if (!isAfter(event, this.after(runId))) return false;
    this.#of.set(runId, { ms: event.ms, seq: event.seq });
    const [oldest] = this.#of;
    if (this.#of.size > REMEMBERED && oldest !== undefined) {
      this.#of.delete(oldest[0]);
      if (isAfter(oldest[1], this.#start)) this.#start = oldest[1];
    }
    return true;
  }
}

/** Of a reader that begins now, or that goes on behind an event. */
export function placesFrom(from: Cursor | undefined, now = Date.now()): Places {
  return from === undefined ? new Places({ ms: now, seq: 0 }, now) : new Places(from);
}
