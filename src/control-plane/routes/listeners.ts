import { Type } from 'typebox';
import { json, noContent, routesWith } from '../../http/route.ts';
import { Closed, Uuid } from '../../schema/types.ts';
import type { ControlPlane } from '../control-plane.ts';
import { Listener, ListenerCreateRequest, ListenerPatchRequest, listenerAnswer } from '../listeners/resource.ts';
import { createListener, findListener, ownListeners, patchListener, removeListener } from '../listeners/writes.ts';
import { pageOf, paging } from '../paging.ts';
import { onePage, rejected, restRoutes } from './route.ts';
import { newestCreatedFirst } from '../stored/newest-first.ts';

const route = restRoutes<[Plane]>('listeners');
const path = '/v2/listeners/{listener_id}';
const Path = Type.Object({ listener_id: Uuid('Id of the listener.') });
const one = { description: 'The listener.', schema: Listener };

type Plane = Pick<ControlPlane, 'config' | 'kube' | 'listenerLock' | 'stored'>;

export const listenerRoutes = routesWith([
  route.get('/v2/listeners', {
    id: 'listListeners',
    summary: 'List listeners: places where deployments can run.',
    access: 'read',
    query: Closed(paging),
    answers: { 200: onePage(Listener) },
    handler: ({ query, caller }, plane) => {
      const { items, offset } = pageOf(ownListeners(plane, caller.tenantId).toSorted(newestCreatedFirst), query);
      return json({ resources: items.map((listener) => listenerAnswer(listener, plane.config.defaultTenantId)), offset });
    },
  }),
  route.get(path, {
    id: 'getListener',
    summary: 'Get a listener.',
    access: 'read',
    params: Path,
    answers: { 200: one },
    handler: async ({ params, ...asking }, plane) =>
      json(listenerAnswer(await findListener(plane, params.listener_id, asking), plane.config.defaultTenantId)),
  }),
  route.post('/v2/listeners', {
    id: 'createListener',
    summary: 'Create a listener: namespaces of this cluster that take deployments of this tenant. Needs the role admin.',
    access: 'admin',
    body: ListenerCreateRequest,
    answers: { 201: one, 400: rejected, 409: { description: 'The compute id or a namespace is taken.' } },
    handler: async ({ body, ...asking }, plane) =>
      json(listenerAnswer(await createListener(plane, body, asking), plane.config.defaultTenantId), 201),
  }),
  route.patch(path, {
    id: 'patchListener',
    summary: "Change a listener's namespaces. Needs the role admin.",
    access: 'admin',
    params: Path,
    body: ListenerPatchRequest,
    answers: { 200: one, 400: rejected, 409: { description: 'A namespace is taken.' } },
    handler: async ({ params, ...asking }, plane) =>
      json(listenerAnswer(await patchListener(plane, params.listener_id, asking), plane.config.defaultTenantId)),
  }),
  route.delete(path, {
    id: 'deleteListener',
    summary: 'Delete a listener that holds no deployment. Needs the role admin.',
    access: 'admin',
    params: Path,
    answers: { 204: { description: 'Deleted.' }, 409: { description: 'It holds deployments.' } },
    handler: async ({ params, ...asking }, plane) => {
      await removeListener(plane, params.listener_id, asking);
      return noContent();
    },
  }),
]);
