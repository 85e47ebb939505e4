/**
 * Remembers when each followed branch was last looked at, so that a busy deployment does not ask its git host at every
 * reconcile. An operator that starts anew looks at all of them once.
 */
export class BranchLooks {
  readonly #last = new Map<string, number>();

  /** Returns the seconds until the branch is to be looked at again; `every` 0 means never. */
  due(key: string, every: number, now: Date): number {
    if (every === 0) return Infinity;
    const last = this.#last.get(key);
    return last === undefined ? 0 : Math.max(0, (last - now.getTime()) / 1000 + every);
  }

  looked(key: string, now: Date): void {
    this.#last.set(key, now.getTime());
  }
}
