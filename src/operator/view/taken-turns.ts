/** Milliseconds within which the caches show what was written. */
const SEEN_WITHIN = 30_000;

/**
 * Remembers which databases may restart, until the caches show that they do: a write comes back only after a while, and
 * deployments that are decided meanwhile must count it.
 */
export class TakenTurns {
  readonly #until = new Map<string, number>();

  take(request: string, now: Date): void {
    for (const [other, until] of this.#until) if (until <= now.getTime()) this.#until.delete(other);
    this.#until.set(request, now.getTime() + SEEN_WITHIN);
  }

  has(request: string, now: Date): boolean {
    return (this.#until.get(request) ?? 0) > now.getTime();
  }
}
