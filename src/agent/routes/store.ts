import { Type } from 'typebox';
import { Invalid, Rejected } from '../../errors.ts';
import { json, noContent } from '../../http/route.ts';
import { Nullable } from '../../schema/types.ts';
import { StoreDelete, StoreGet, StoreItem, StoreNamespaces, StorePut, StoreSearch } from '../../schema/store-item.ts';
import { deleteItem, getItem, listNamespaces, putItem, searchItems, type Near } from '../db/store-items.ts';
import type { AgentDeps } from '../deps.ts';
import { ok, refused, route, type AgentRoute } from './route.ts';

type Deps = Pick<AgentDeps, 'db' | 'semanticSearch'>;

const tag = 'store';

/** Returns the body. Throws `Invalid` for a field that names an impossible namespace. */
function checked<B extends object>(body: B): B {
  for (const field of ['namespace', 'namespace_prefix', 'prefix', 'suffix']) {
    const labels = (body as Record<string, string[] | null | undefined>)[field] ?? [];
    const bad = labels.find((label) => label === '' || label.includes('.'));
    if (bad === undefined) continue;
    const msg = `Namespace label '${bad}' must be a non-empty string without periods`;
    throw new Invalid([{ loc: ['body', field], msg, type: 'value_error' }]);
  }
  return body;
}

async function nearTo({ semanticSearch }: Deps, query: string | null | undefined): Promise<Near | undefined> {
  if (!query) return undefined;
  const msg = 'This deployment has no semantic search: gx.json names no store.index';
  if (semanticSearch === undefined) throw new Invalid([{ loc: ['body', 'query'], msg, type: 'not_supported' }]);
  return semanticSearch.near(query);
}

const putItemRoute = (deps: Deps): AgentRoute =>
  route({
    method: 'put',
    path: '/store/items',
    id: 'put_item',
    summary: 'Keep a value',
    tag,
    access: 'write',
    body: StorePut,
    answers: { 204: ok('Kept.'), ...refused },
    handler: async ({ body }) => {
      const { namespace } = checked(body);
      const indexed = await deps.semanticSearch?.vectorsOf(body.value, body.index);
      await putItem(deps.db, { namespace, key: body.key, value: body.value, ttl: body.ttl ?? null, indexed });
      return noContent();
    },
  });

const getItemRoute = ({ db }: Deps): AgentRoute =>
  route({
    method: 'get',
    path: '/store/items',
    id: 'get_item',
    summary: 'A kept value, or null',
    tag,
    access: 'read',
    query: StoreGet,
    answers: { 200: ok('The item, or null.', Nullable(StoreItem)), ...refused },
    handler: async ({ query }) => {
      if (query.key === undefined) throw new Rejected('key: Field required');
      const namespace = query.namespace ? query.namespace.split('.') : [];
      return json((await getItem(db, { namespace, key: query.key, refresh: query.refresh_ttl !== false })) ?? null);
    },
  });

const deleteItemRoute = ({ db }: Deps): AgentRoute =>
  route({
    method: 'delete',
    path: '/store/items',
    id: 'delete_item',
    summary: 'Forget a value',
    tag,
    access: 'write',
    body: StoreDelete,
    answers: { 204: ok('Gone.'), ...refused },
    handler: async ({ body }) => {
      await deleteItem(db, { namespace: checked(body).namespace ?? [], key: body.key });
      return noContent();
    },
  });

const searchItemsRoute = (deps: Deps): AgentRoute =>
  route({
    method: 'post',
    path: '/store/items/search',
    id: 'search_items',
    summary: 'Values under a namespace',
    tag,
    access: 'read',
    body: StoreSearch,
    bodyOptional: true,
    answers: { 200: ok('Items.', Type.Object({ items: Type.Array(StoreItem) })), ...refused },
    handler: async ({ body }) => json({ items: await searchItems(deps.db, checked(body), await nearTo(deps, body.query)) }),
  });

const listNamespacesRoute = ({ db }: Deps): AgentRoute =>
  route({
    method: 'post',
    path: '/store/namespaces',
    id: 'list_namespaces',
    summary: 'Namespaces in use',
    tag,
    access: 'read',
    body: StoreNamespaces,
    bodyOptional: true,
    answers: { 200: ok('Namespaces.', Type.Object({ namespaces: Type.Array(Type.Array(Type.String())) })), ...refused },
    handler: async ({ body }) => json({ namespaces: await listNamespaces(db, checked(body)) }),
  });

export const storeRoutes = (deps: Deps): AgentRoute[] => [
  putItemRoute(deps),
  getItemRoute(deps),
  deleteItemRoute(deps),
  searchItemsRoute(deps),
  listNamespacesRoute(deps),
];
