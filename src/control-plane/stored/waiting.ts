/** Stands for any deployment. */
const ANY = '';

/** Those who wait for a change, by the uid of the deployment: a change wakes nobody who waits for another one. */
export class Waiting {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Resolves at the next change of the deployment, or of any without a uid, or when the signal is aborted. */
  async waitForChange(signal: AbortSignal, uid = ANY): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const abort = (): void => resolve();
    const others = this.#waiting.get(uid) ?? new Set();
    this.#waiting.set(uid, others.add(resolve));
    signal.addEventListener('abort', abort, { once: true });
    await promise;
    others.delete(resolve);
    if (others.size === 0 && this.#waiting.get(uid) === others) this.#waiting.delete(uid);
    signal.removeEventListener('abort', abort);
  }

  wake(uid: string | undefined): void {
    for (const resolve of this.#waiting.get(ANY) ?? []) resolve();
    for (const resolve of (uid === undefined ? undefined : this.#waiting.get(uid)) ?? []) resolve();
  }

  wakeAll(): void {
    for (const waiting of this.#waiting.values()) for (const resolve of waiting) resolve();
  }
}
