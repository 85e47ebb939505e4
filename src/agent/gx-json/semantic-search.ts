import { setImmediate } from 'node:timers/promises';
import type { Database } from '../db/base/pool.ts';
import type { Near } from '../db/store/store-items.ts';
import { refuseByValue } from '../db/base/unsearchable.ts';
import {
  loadVectorSupport,
  prepareVectors,
  setVectors,
  loadUnindexedItems,
  type ItemVectors,
  type Nearness,
  type Unindexed,
} from '../db/store/store-vectors.ts';
import { pickTexts, type Embed } from './embed.ts';

type Deps = { db: Database; index: { dims: number; fields: string[] }; embed: Embed };

/** The number of older items that are embedded at a time. */
const BATCH = 50;

/** Searches the store by meaning, as `store.index` of gx.json asks. */
export class SemanticSearch {
  readonly #deps: Deps;
  #by: Nearness = 'sql';

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Returns the vectors to store with an item so that it is found. `index` is its writer's choice: nothing, false, or
   * paths.
   */
  async embedItem(value: object, index: unknown): Promise<ItemVectors> {
    const { db, embed, index: settings } = this.#deps;
    // Vectors would tell what an encrypted value is about.
    if (db.codec.encrypts) return { dims: 0, index, vectors: [] };
    return { dims: settings.dims, index, vectors: await embed(pickTexts(value, index, settings)) };
  }

  async embedQuery(query: string): Promise<Near> {
    const { db, embed, index } = this.#deps;
    refuseByValue(db.codec, 'query', query);
    const [vector = []] = await embed([query]);
    // A database may gain pgvector, but does not lose it.
    if (this.#by === 'sql') this.#by = await loadVectorSupport(db, index.dims);
    return { vector, by: this.#by };
  }

  async prepare(): Promise<Nearness> {
    this.#by = await prepareVectors(this.#deps.db, this.#deps.index.dims);
    return this.#by;
  }

  /** Gives vectors to the items that were stored without any, until none is left; returns how many there were. */
  async embedUnindexed(signal: AbortSignal): Promise<number> {
    const { db, index } = this.#deps;
    for (let items = 0; ;) {
      const batch = await loadUnindexedItems(db, index.dims, BATCH);
      if (batch.length === 0 || signal.aborted) return items;
      await this.#give(batch);
      items += batch.length;
      await setImmediate();
    }
  }

  async #give(batch: Unindexed[]): Promise<void> {
    const { db, index, embed } = this.#deps;
    const texts = batch.map((item) => pickTexts(item.value, item.index, index));
    const vectors = await embed(texts.flat());
    for (const [at, item] of batch.entries())
      await setVectors(db, item, {
        dims: index.dims,
        index: item.index,
        vectors: vectors.splice(0, texts[at]!.length),
      });
  }
}
