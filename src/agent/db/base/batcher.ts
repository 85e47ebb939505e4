import { setImmediate as turn } from 'node:timers/promises';
import { Unavailable } from '../../../errors.ts';

/** The most items of one statement; sharing it among more saves nothing. */
const MOST = 100;

type Waiting<Item, Result> = {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
};

/**
 * Sends the items that come while a statement is under way together in the next one, because each alone would cost a
 * round trip. A single item waits for nothing. `write` returns one result for each item, in their order. When it fails
 * for several items, each is tried alone, so that only the faulty one fails.
 */
export class Batcher<Item, Result> {
  readonly #write: (items: Item[]) => Promise<Result[]>;
  readonly #keyOf: ((item: Item) => string) | undefined;
  #waiting: Waiting<Item, Result>[] = [];
  #writing = false;

  /** Items of the same key, where `keyOf` gives them one, are never in the same statement. */
  constructor(write: (items: Item[]) => Promise<Result[]>, keyOf?: (item: Item) => string) {
    this.#write = write;
    this.#keyOf = keyOf;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#writing) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#writing = true;
    // Items that are asked for in the same turn of the event loop go along.
    await turn();
    while (this.#waiting.length > 0)
      await this.#try(this.#waiting.splice(0, this.#countUnrepeated()));
    this.#writing = false;
  }

  /** Returns how many items, from the first, can share a statement. */
  #countUnrepeated(): number {
    const keyOf = this.#keyOf;
    if (keyOf === undefined || this.#waiting.length === 1) return MOST;
    const seen = new Set<string>();
    for (const { item } of this.#waiting.slice(0, MOST)) {
      if (seen.has(keyOf(item))) break;
      seen.add(keyOf(item));
    }
    return seen.size;
  }

  async #try(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#write(batch.map(({ item }) => item));
      for (const [at, { resolve }] of batch.entries()) resolve(results[at] as Result);
    } catch (error) {
      if (batch.length === 1 || error instanceof Unavailable)
        for (const { reject } of batch) reject(error);
      else for (const one of batch) await this.#try([one]);
    }
  }
}
