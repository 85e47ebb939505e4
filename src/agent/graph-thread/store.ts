import {
  BaseStore,
  type Item,
  type Operation,
  type OperationResults,
} from '@langchain/langgraph-checkpoint';
import type { StoreItem } from '../../schema/agent/store-item.ts';
import type { ItemStorage } from '../run-storage/item-storage.ts';

type Search = {
  namespacePrefix: string[];
  filter?: Record<string, unknown>;
  limit?: number;
  offset?: number;
  query?: string;
};
type Namespaces = {
  matchConditions?: { matchType: 'prefix' | 'suffix'; path: string[] }[];
  maxDepth?: number;
  limit: number;
  offset: number;
};

/** The `store` that a graph sees: the deployment's store items, behind LangGraph's interface. */
export class GraphStore extends BaseStore {
  readonly #items: ItemStorage;

  constructor(items: ItemStorage) {
    super();
    this.#items = items;
  }

  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results: unknown[] = [];
    for (const operation of operations) results.push(await this.#runOperation(operation));
    return results as OperationResults<Op>;
  }

  async #runOperation(operation: Operation): Promise<unknown> {
    if ('matchConditions' in operation || 'maxDepth' in operation)
      return this.#listNamespaces(operation);
    if ('namespacePrefix' in operation) return this.#search(operation);
    if (!('value' in operation)) {
      const found = await this.#items.get(operation as { namespace: string[]; key: string });
      return found && toItem(found);
    }
    const { namespace, key, value, index } = operation;
    await (value === null
      ? this.#items.delete({ namespace, key })
      : this.#items.put({ namespace, key, value: value as object, index }));
    return undefined;
  }

  async #search({
    namespacePrefix,
    filter,
    limit = 10,
    offset = 0,
    query,
  }: Search): Promise<Item[]> {
    const search = {
      namespace_prefix: namespacePrefix,
      filter: filter ?? null,
      limit,
      offset,
      query: query ?? null,
    };
    const items = await this.#items.search(search);
    return items.map((item) => ({
      ...toItem(item),
      ...(item.score !== null && { score: item.score }),
    }));
  }

  #listNamespaces({
    matchConditions = [],
    maxDepth,
    limit,
    offset,
  }: Namespaces): Promise<string[][]> {
    const findPath = (type: 'prefix' | 'suffix'): string[] | null =>
      matchConditions.find((condition) => condition.matchType === type)?.path ?? null;
    return this.#items.listNamespaces({
      prefix: findPath('prefix'),
      suffix: findPath('suffix'),
      max_depth: maxDepth ?? null,
      limit,
      offset,
    });
  }
}

const toItem = ({ namespace, key, value, created_at, updated_at }: StoreItem): Item => ({
  namespace,
  key,
  value,
  createdAt: new Date(created_at),
  updatedAt: new Date(updated_at),
});
