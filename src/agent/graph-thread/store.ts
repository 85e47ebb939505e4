import { BaseStore, type Item, type Operation, type OperationResults, type SearchItem } from '@langchain/langgraph-checkpoint';
import { deleteItem, getItem, listNamespaces, putItem, searchItems } from '../db/store-items.ts';
import type { Database } from '../db/pool.ts';
import type { SemanticSearch } from '../gx-json/semantic-search.ts';
import type { StoreItem } from '../../schema/store-item.ts';
import type { StoreLife } from '../../schema/wall/graph-start.ts';

type Search = { namespacePrefix: string[]; filter?: Record<string, unknown>; limit?: number; offset?: number; query?: string };
type Namespaces = {
  matchConditions?: { matchType: 'prefix' | 'suffix'; path: string[] }[];
  maxDepth?: number;
  limit: number;
  offset: number;
};

const FOR_EVER: StoreLife = { defaultTtl: null, refresh: true };

/** What a graph sees as `store`: the deployment's store items. */
export class PgStore extends BaseStore {
  readonly #db: Database;
  readonly #life: StoreLife;
  readonly #semanticSearch: SemanticSearch | undefined;

  constructor(db: Database, life: StoreLife = FOR_EVER, semanticSearch?: SemanticSearch) {
    super();
    this.#db = db;
    this.#life = life;
    this.#semanticSearch = semanticSearch;
  }

  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results: unknown[] = [];
    for (const operation of operations) results.push(await this.#one(operation));
    return results as OperationResults<Op>;
  }

  async #one(operation: Operation): Promise<unknown> {
    if ('matchConditions' in operation || 'maxDepth' in operation) return this.#namespaces(operation);
    if ('namespacePrefix' in operation) return this.#search(operation);
    if (!('value' in operation)) {
      const found = await getItem(this.#db, { ...(operation as { namespace: string[]; key: string }), refresh: this.#life.refresh });
      return found === undefined ? null : itemOf(found);
    }
    const { namespace, key, value } = operation;
    if (value === null) await deleteItem(this.#db, { namespace, key });
    else {
      const indexed = await this.#semanticSearch?.vectorsOf(value as object, operation.index);
      await putItem(this.#db, { namespace, key, value: value as Record<string, unknown>, ttl: this.#life.defaultTtl, indexed });
    }
    return undefined;
  }

  async #search({ namespacePrefix, filter, limit = 10, offset = 0, query }: Search): Promise<SearchItem[]> {
    const near = query ? await this.#semanticSearch?.near(query) : undefined;
    const items = await searchItems(
      this.#db,
      { namespace_prefix: namespacePrefix, filter: filter ?? null, limit, offset, refresh_ttl: this.#life.refresh },
      near,
    );
    return items.map((item) => ({ ...itemOf(item), ...(item.score !== null && { score: item.score }) }));
  }

  #namespaces({ matchConditions = [], maxDepth, limit, offset }: Namespaces): Promise<string[][]> {
    const path = (type: 'prefix' | 'suffix'): string[] | null =>
      matchConditions.find((condition) => condition.matchType === type)?.path ?? null;
    return listNamespaces(this.#db, { prefix: path('prefix'), suffix: path('suffix'), max_depth: maxDepth ?? null, limit, offset });
  }
}

const itemOf = ({ namespace, key, value, created_at, updated_at }: StoreItem): Item => ({
  namespace,
  key,
  value,
  createdAt: new Date(created_at),
  updatedAt: new Date(updated_at),
});
