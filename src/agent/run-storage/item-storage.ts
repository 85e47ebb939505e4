import type { StoreItem, StoreNamespaces, StoreSearch } from '../../schema/agent/store-item.ts';
import type { StoreLife } from '../../schema/wire/wall/graph-start.ts';
import type { Database } from '../db/base/pool.ts';
import {
  deleteItem,
  getItem,
  listNamespaces,
  putItem,
  searchItems,
  type FoundItem,
} from '../db/store/store-items.ts';
import type { SemanticSearch } from '../gx-json/semantic-search.ts';

const FOR_EVER: StoreLife = { defaultTtl: null, refresh: true };

type ItemKey = { namespace: string[]; key: string };
/** The deployment's store, as graphs use it. */
export class ItemStorage {
  readonly #db: Database;
  readonly #life: StoreLife;
  readonly #semanticSearch: SemanticSearch | undefined;

  constructor(db: Database, life: StoreLife = FOR_EVER, semanticSearch?: SemanticSearch) {
    this.#db = db;
    this.#life = life;
    this.#semanticSearch = semanticSearch;
  }

  async get({
    namespace,
    key,
    refresh = this.#life.refresh,
  }: ItemKey & { refresh?: boolean | undefined }): Promise<StoreItem | null> {
    return (await getItem(this.#db, { namespace, key, refresh })) ?? null;
  }

  /** `index` says which paths of the value are searched by meaning, `ttl` how many minutes it lives. */
  async put({
    index,
    ttl = this.#life.defaultTtl,
    ...item
  }: ItemKey & { value: object; index?: unknown; ttl?: number | null | undefined }): Promise<void> {
    const indexed = await this.#semanticSearch?.embedItem(item.value, index);
    await putItem(this.#db, { ...item, ttl, indexed });
  }

  delete(at: ItemKey): Promise<void> {
    return deleteItem(this.#db, at);
  }

  /** Returns items under a namespace: the nearest to the query if there is one, else the newest. */
  async search({ query, ...search }: StoreSearch): Promise<FoundItem[]> {
    const near = query ? await this.#semanticSearch?.embedQuery(query) : undefined;
    return searchItems(
      this.#db,
      { ...search, refresh_ttl: search.refresh_ttl ?? this.#life.refresh },
      near,
    );
  }

  listNamespaces(search: StoreNamespaces): Promise<string[][]> {
    return listNamespaces(this.#db, search);
  }
}
