import { Type } from 'typebox';
import { json, noContent, type Route } from '../../http/route.ts';
import { Uuid } from '../../schema/types.ts';
import { failures, notFound } from '../deployments/routes.ts';
import { route, type Caller, type Needs } from '../needs.ts';
import { newestCreatedFirst, pageOf, paging } from '../paging.ts';
import { createListener, findListener, ownListeners, patchListener, removeListener } from './change.ts';
import { Listener, ListenerCreateRequest, ListenerPatchRequest, toAnswer } from './resource.ts';

const tag = 'listeners';
const path = '/v2/listeners/{listener_id}';
const Path = Type.Object({ listener_id: Uuid('Id of the listener.') });
const one = { description: 'The listener.', schema: Listener };
const rejected = { description: 'A rule forbids it; detail begins with the field.' };

export const listenerRoutes = (needs: Needs): Route<Caller>[] => [...reads(needs), ...writes(needs)];

const reads = (needs: Needs): Route<Caller>[] => [
  route({
    method: 'get',
    path: '/v2/listeners',
    id: 'listListeners',
    summary: 'List listeners: places where deployments can run.',
    tag,
    access: 'read',
    query: Type.Object(paging, { additionalProperties: false }),
    answers: {
      200: { description: 'One page.', schema: Type.Object({ resources: Type.Array(Listener), offset: Type.Integer() }) },
      ...failures,
    },
    handler: ({ query, caller }) => {
      const { items, offset } = pageOf(ownListeners(needs, caller.tenantId).toSorted(newestCreatedFirst), query);
      return json({ resources: items.map((listener) => toAnswer(listener, needs.config.defaultTenantId)), offset });
    },
  }),
  route({
    method: 'get',
    path,
    id: 'getListener',
    summary: 'Get a listener.',
    tag,
    access: 'read',
    params: Path,
    answers: { 200: one, 404: notFound, ...failures },
    handler: async ({ params, ...asking }) =>
      json(toAnswer(await findListener(needs, params.listener_id, asking), needs.config.defaultTenantId)),
  }),
];

const writes = (needs: Needs): Route<Caller>[] => [
  route({
    method: 'post',
    path: '/v2/listeners',
    id: 'createListener',
    summary: 'Create a listener: namespaces of this cluster that take deployments of this tenant.',
    tag,
    access: 'write',
    body: ListenerCreateRequest,
    answers: { 201: one, 400: rejected, 409: { description: 'The compute id or a namespace is taken.' }, ...failures },
    handler: async ({ body, ...asking }) => json(toAnswer(await createListener(needs, body, asking), needs.config.defaultTenantId), 201),
  }),
  route({
    method: 'patch',
    path,
    id: 'patchListener',
    summary: "Change a listener's namespaces.",
    tag,
    access: 'write',
    params: Path,
    body: ListenerPatchRequest,
    answers: { 200: one, 400: rejected, 404: notFound, 409: { description: 'A namespace is taken.' }, ...failures },
    handler: async ({ params, ...asking }) =>
      json(toAnswer(await patchListener(needs, params.listener_id, asking), needs.config.defaultTenantId)),
  }),
  route({
    method: 'delete',
    path,
    id: 'deleteListener',
    summary: 'Delete a listener that holds no deployment.',
    tag,
    access: 'write',
    params: Path,
    answers: { 204: { description: 'Gone.' }, 404: notFound, 409: { description: 'It holds deployments.' }, ...failures },
    handler: async ({ params, ...asking }) => {
      await removeListener(needs, params.listener_id, asking);
      return noContent();
    },
  }),
];
