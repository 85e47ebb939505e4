import { Type } from 'typebox';
import { Conflict, Invalid, Rejected } from '../../errors.ts';
import { answerJson, answerNoContent, bindRoutes } from '../../http/routes/route.ts';
import { buildNullableSchema } from '../../schema/types.ts';
import {
  StoreDelete,
  StoreGet,
  StoreItem,
  StoreNamespaces,
  StorePut,
  StoreSearch,
} from '../../schema/agent/store-item.ts';
import { askPermission } from '../auth/caller.ts';
import {
  deleteItem,
  getItem,
  listNamespaces,
  putItem,
  searchItems,
  type Near,
} from '../db/store/store-items.ts';
import { refuseByValue } from '../db/base/unsearchable.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { describeAnswer, refused, buildAgentRoutes } from './route.ts';

const route = buildAgentRoutes<[AgentDeps]>('store');

/** Returns the body. Throws `Invalid` for a field that names an impossible namespace. */
function checkNamespaces<B extends object>(body: B): B {
  for (const field of ['namespace', 'namespace_prefix', 'prefix', 'suffix']) {
    const labels = (body as Record<string, string[] | null | undefined>)[field] ?? [];
    const bad = labels.find((label) => label === '' || label.includes('.'));
    if (bad === undefined) continue;
    const msg = `Namespace label '${bad}' must be a non-empty string without periods`;
    throw new Invalid([{ loc: ['body', field], msg, type: 'value_error' }]);
  }
  return body;
}

async function resolveNear(
  { db, semanticSearch }: AgentDeps,
  query: string | null | undefined,
): Promise<Near | undefined> {
  if (!query) return undefined;
  refuseByValue(db.codec, 'query', query);
  const msg = 'This deployment has no semantic search: gx.json names no store.index';
  if (semanticSearch === undefined)
    throw new Invalid([{ loc: ['body', 'query'], msg, type: 'not_supported' }]);
  return semanticSearch.embedQuery(query);
}

export const storeRoutes = bindRoutes([
  route.put('/store/items', {
    id: 'put_item',
    summary: 'Keep a value',
    access: 'write',
    body: StorePut,
    answers: { 204: describeAnswer('Kept.'), ...refused },
    handler: async ({ body, caller }, deps) => {
      const { index = null, ttl = deps.expiry.store.defaultTtl } = body;
      const { value: item, permits } = await askPermission(caller, 'store:put', {
        ...checkNamespaces(body),
        index,
        ttl,
      });
      const indexed = await deps.semanticSearch?.embedItem(item.value, body.index);
      const { namespace, key, value } = item;
      if (
        await putItem(deps.db, {
          namespace,
          key,
          value,
          ttl: item.ttl,
          indexed,
          replaceable: permits,
        })
      )
        return answerNoContent();
      throw new Conflict(
        `There is an item ${key} under ${namespace.join('.')} that may not be replaced.`,
      );
    },
  }),
  route.get('/store/items', {
    id: 'get_item',
    summary: 'Get a stored value, or null',
    access: 'read',
    query: StoreGet,
    answers: {
      200: describeAnswer('The item, or null.', buildNullableSchema(StoreItem)),
      ...refused,
    },
    handler: async ({ query, caller }, { db, expiry }) => {
      if (query.key === undefined) throw new Rejected('key: Field required');
      const asked = {
        namespace: query.namespace ? query.namespace.split('.') : [],
        key: query.key,
      };
      const { value, permits } = await askPermission(caller, 'store:get', asked);
      return answerJson(
        (await getItem(db, {
          ...value,
          refresh: query.refresh_ttl ?? expiry.store.refresh,
          seen: permits,
        })) ?? null,
      );
    },
  }),
  route.delete('/store/items', {
    id: 'delete_item',
    summary: 'Forget a value',
    access: 'write',
    body: StoreDelete,
    selects: true,
    answers: { 204: describeAnswer('Gone.'), ...refused },
    handler: async ({ body, caller }, { db }) => {
      const { value, permits } = await askPermission(caller, 'store:delete', {
        namespace: checkNamespaces(body).namespace ?? [],
        key: body.key,
      });
      await deleteItem(db, { ...value, deletable: permits });
      return answerNoContent();
    },
  }),
  route.post('/store/items/search', {
    id: 'search_items',
    summary: 'Search values under a namespace',
    access: 'read',
    body: StoreSearch,
    selects: true,
    bodyOptional: true,
    answers: {
      200: describeAnswer('Items.', Type.Object({ items: Type.Array(StoreItem) })),
      ...refused,
    },
    handler: async ({ body, caller }, deps) => {
      const { namespace_prefix, filter, query, ...rest } = checkNamespaces(body);
      const asked = {
        ...rest,
        namespace: namespace_prefix ?? [],
        filter: filter ?? {},
        query: query ?? null,
      };
      const { value, permits } = await askPermission(caller, 'store:search', asked);
      const { namespace, ...search } = value;
      const near = await resolveNear(deps, search.query);
      return answerJson({
        items: await searchItems(
          deps.db,
          {
            ...search,
            refresh_ttl: search.refresh_ttl ?? deps.expiry.store.refresh,
            namespace_prefix: namespace,
            seen: permits,
          },
          near,
        ),
      });
    },
  }),
  route.post('/store/namespaces', {
    id: 'list_namespaces',
    summary: 'List the namespaces in use',
    access: 'read',
    body: StoreNamespaces,
    selects: true,
    bodyOptional: true,
    answers: {
      200: describeAnswer(
        'Namespaces.',
        Type.Object({ namespaces: Type.Array(Type.Array(Type.String())) }),
      ),
      ...refused,
    },
    handler: async ({ body, caller }, { db }) => {
      const { prefix, suffix, max_depth, ...page } = checkNamespaces(body);
      const asked = {
        ...page,
        namespace: prefix ?? [],
        suffix: suffix ?? [],
        max_depth: max_depth ?? null,
      };
      const { value, permits } = await askPermission(caller, 'store:list_namespaces', asked);
      const { namespace, ...search } = value;
      return answerJson({
        namespaces: await listNamespaces(db, { ...search, prefix: namespace, seen: permits }),
      });
    },
  }),
]);
