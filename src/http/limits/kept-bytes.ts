/** How many bytes are kept for one name at most, and for all. */
export type BytesBounds = { each: number; all: number };

/** The part of all bytes that is kept after there were too many, so that the next ones find room. */
const AFTER_CUT = 0.9;

/**
 * Counts the bytes that are kept in memory for each name. When all keep too much, those that keep most give way, so one
 * that keeps little loses nothing by others that keep much.
 */
export class KeptBytes {
  readonly #bounds: BytesBounds;
  readonly #kept = new Map<string, number>();
  #total = 0;

  constructor(bounds: BytesBounds) {
    this.#bounds = bounds;
  }

  get total(): number {
    return this.#total;
  }

  add(name: string, bytes: number): void {
    const kept = (this.#kept.get(name) ?? 0) + bytes;
    this.#total += bytes;
    if (kept > 0) this.#kept.set(name, kept);
    else this.#kept.delete(name);
  }

  getBytes(name: string): number {
    return this.#kept.get(name) ?? 0;
  }

  /** Returns whether a name keeps more than one may. */
  isOver(name: string): boolean {
    return this.getBytes(name) > this.#bounds.each;
  }

  /**
   * Returns the bytes to which each name that keeps much is to be cut, if all keep too much: one level for all of them.
   * The caller counts as it drops something.
   */
  planCuts(): Map<string, number> {
    const { all } = this.#bounds;
    if (this.#total <= all) return new Map();
    const sorted = [...this.#kept].toSorted(([, one], [, other]) => one - other);
    let left = all * AFTER_CUT;
    for (const [at, [, bytes]] of sorted.entries()) {
      const level = left / (sorted.length - at);
      if (bytes > level) return new Map(sorted.slice(at).map(([name]) => [name, level]));
      left -= bytes;
    }
    return new Map();
  }
}
