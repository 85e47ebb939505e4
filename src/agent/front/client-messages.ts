import type { BodySource } from '../exchange/bodies.ts';

type Paced = { pause(): void; resume(): void };

/** Bytes that may wait for the application before nothing more is read from the client. */
const MOST_WAITING = 256 * 1024;

/** The messages of a client as a body, which the application reads as fast as it can. */
export class ClientMessages implements BodySource {
  readonly #waiting: Uint8Array[] = [];
  #bytes = 0;
  #client: Paced | undefined;
  #isPaused = false;
  #over = false;
  #wake: () => void = () => undefined;

  /** From now on, the client waits while too much of it does. */
  attachClient(client: Paced): void {
    this.#client = client;
  }

  push(frame: Uint8Array): void {
    if (this.#over) return;
    this.#waiting.push(frame);
    this.#bytes += frame.length;
    if (!this.#isPaused && this.#bytes > MOST_WAITING) {
      this.#isPaused = true;
      this.#client?.pause();
    }
    this.#wake();
  }

  end(): void {
    this.#over = true;
    this.#wake();
  }

  async read(): Promise<Uint8Array | undefined> {
    while (this.#waiting.length === 0 && !this.#over) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
    const frame = this.#waiting.shift();
    this.#bytes -= frame?.length ?? 0;
    if (this.#isPaused && this.#bytes <= MOST_WAITING) {
      this.#isPaused = false;
      this.#client?.resume();
    }
    return frame;
  }

  cancel(): void {
    this.#waiting.length = 0;
    this.#bytes = 0;
    this.end();
    // A client whose messages nobody reads must still be heard when it closes.
    this.#client?.resume();
  }
}
