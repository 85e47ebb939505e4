/*
 * A long state mostly differs from the one before at its end, where messages were added. The row of its thread then
 * keeps the text that it has, which nothing rewrites, and gets a tail. Of 330 kB, that spares each run 5 ms.
 */

/** Characters of a tail above which the state is written whole: of 330 kB, both then cost a run the same. */
const MOST_OF_TAIL = 16_000;
/** Characters of the written text that may be out of date, so that nothing removed stays in the row for long. */
const MOST_DROPPED = 1000;

/** A state as it was written whole; `at` is the row's `long_values_at` since then. */
type StoredState = { text: string; at: string };

/** The text to add to the first `kept` characters (as Postgres counts them) of the text written `at` that time. */
export type Tail = { kept: number; text: string; at: string };

/** Remembers the long states that this process wrote. One that is forgotten is written whole again. */
export class LongStates {
  readonly #mostCharacters: number;
  readonly #written = new Map<string, StoredState>();
  #characters = 0;

  constructor(mostCharacters: number) {
    this.#mostCharacters = mostCharacters;
  }

  cacheState(threadId: string, written: StoredState): void {
    this.dropState(threadId);
    this.#written.set(threadId, written);
    this.#characters += written.text.length;
    for (const oldest of this.#written.keys())
      if (this.#characters > this.#mostCharacters) this.dropState(oldest);
  }

  dropState(threadId: string): void {
    this.#characters -= this.#written.get(threadId)?.text.length ?? 0;
    this.#written.delete(threadId);
  }

  /** Returns how the thread's row gets the text; undefined where it must be written whole. */
  planTail(threadId: string, text: string): Tail | undefined {
    const written = this.#written.get(threadId);
    if (written === undefined) return undefined;
    // The entry that was used last comes last.
    this.#written.delete(threadId);
    this.#written.set(threadId, written);
    const kept = countSharedCharacters(written.text, text);
    if (written.text.length - kept > MOST_DROPPED || text.length - kept > MOST_OF_TAIL)
      return undefined;
    return { kept: countCodePoints(text.slice(0, kept)), text: text.slice(kept), at: written.at };
  }
}

/** Returns the length of the beginning that two texts share, in whole characters. */
function countSharedCharacters(one: string, other: string): number {
  let [same, end] = [0, Math.min(one.length, other.length)];
  while (same < end) {
    const middle = Math.ceil((same + end) / 2);
    if (one.slice(same, middle) === other.slice(same, middle)) same = middle;
    else end = middle - 1;
  }
  return /[\ud800-\udbff]$/.test(one.slice(Math.max(0, same - 1), same)) ? same - 1 : same;
}

const PAIRS = /[\ud800-\udbff]/g;

/** Counts characters as Postgres does; JavaScript counts those outside of the basic plane twice. */
const countCodePoints = (text: string): number => text.length - (text.match(PAIRS)?.length ?? 0);
