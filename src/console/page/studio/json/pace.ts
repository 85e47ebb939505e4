/** Milliseconds of work before the page does something else. Beside other programs it takes several times as long. */
const SLICE = 8;

/** Lets the page do something else. */
export function pauseForPage(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve);
  return promise;
}

/** Long work in slices, between which the page does other things. */
export class Pace {
  #since = performance.now();

  /** Goes on with the work, at once or when the page has done something else. Throws where the reader has left. */
  async keep(signal?: AbortSignal): Promise<void> {
    if (performance.now() - this.#since < SLICE) return;
    await pauseForPage();
    signal?.throwIfAborted();
    this.#since = performance.now();
  }
}
