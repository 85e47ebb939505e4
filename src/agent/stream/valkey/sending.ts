import { setImmediate as turn } from 'node:timers/promises';
import { toError } from '../../../errors.ts';
import { Pause } from '../../../pause.ts';

/** Milliseconds for which entries are gathered whose runs have just sent some: each message costs a reader a write. */
export const GATHER = 6;
/** Batches on their way at most. */
const UNDER_WAY = 4;

type Sends<E> = {
  /** Returns true if the entry waits for no others, because nothing of its run was sent for a moment. */
  isFresh(entry: E): boolean;
  /** Resolves when a batch is on its way, with a promise that settles when it is answered. */
  send(entries: E[]): Promise<{ answered: Promise<void> }>;
  /** Called when a batch could not be sent, or was not answered. */
  failed(): void;
};

/**
 * Sends entries in their order, in batches. A batch does not wait for the answer to the one before, because an answer
 * that is late for a moment would hold up all that comes meanwhile.
 */
export class Sending<E> {
  readonly #sends: Sends<E>;
  #waiting: E[] = [];
  #isSending = false;
  readonly #gathering = new Pause();
  /** The answers that are still to come, oldest first. */
  readonly #underWay: Promise<void>[] = [];
  /** Counts the entries that came and those that were answered, and holds who waits for one of them. */
  #came = 0;
  #went = 0;
  #listeners: { upTo: number; resolve: () => void }[] = [];

  constructor(sends: Sends<E>) {
    this.#sends = sends;
  }

  add(entry: E): void {
    this.#waiting.push(entry);
    this.#came += 1;
    if (!this.#isSending) void this.#send();
    else if (this.#sends.isFresh(entry)) this.#gathering.end();
  }

  /** Settles when all that was added until now is answered, or lost. It ends the gathering. */
  async waitUntilSent(): Promise<void> {
    // Later entries are not waited for, because they may never stop coming.
    const upTo = this.#came;
    if (this.#went >= upTo) return;
    this.#gathering.end();
    await new Promise<void>((resolve) => void this.#listeners.push({ upTo, resolve }));
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      // Entries of one turn of the event loop go together.
      await turn();
      if (
        this.#listeners.length === 0 &&
        !this.#waiting.some((entry) => this.#sends.isFresh(entry))
      )
        await this.#gathering.waitFor(GATHER);
      const entries = this.#waiting.splice(0);
      const sent = this.#sends
        .send(entries)
        .catch((error: unknown) => ({ answered: Promise.reject<void>(toError(error)) }));
      this.#count((await sent).answered, entries.length);
      if (this.#underWay.length >= UNDER_WAY) await this.#underWay[0];
    }
    this.#isSending = false;
  }

  /** Counts entries as gone once they are answered, and all before them. */
  #count(answered: Promise<void>, entries: number): void {
    const before = this.#underWay.at(-1);
    const settle = async (): Promise<void> => {
      await answered.catch(() => this.#sends.failed());
      await before;
      void this.#underWay.shift();
      this.#went += entries;
      for (const { upTo, resolve } of this.#listeners) if (upTo <= this.#went) resolve();
      this.#listeners = this.#listeners.filter(({ upTo }) => upTo > this.#went);
    };
    this.#underWay.push(settle());
  }
}
