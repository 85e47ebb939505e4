import { Type } from 'typebox';
import { answerJson, answerNoContent, bindRoutes } from '../../http/routes/route.ts';
import { buildClosedSchema, buildUuidSchema } from '../../schema/types.ts';
import type { ControlPlane } from '../control-plane.ts';
import {
  Listener,
  ListenerCreateRequest,
  ListenerPatchRequest,
  toListenerAnswer,
} from '../listeners/resource.ts';
import {
  createListener,
  findListener,
  listOwnListeners,
  patchListener,
  removeListener,
} from '../listeners/writes.ts';
import { takePage, paging } from '../paging.ts';
import { describePage, rejected, buildRestRouteMakers } from './route.ts';
import { compareNewestFirst } from '../stored/newest-first.ts';

const route = buildRestRouteMakers<[ControlPlane]>('listeners');
const path = '/v2/listeners/{listener_id}';
const Path = Type.Object({ listener_id: buildUuidSchema('Id of the listener.') });
const one = { description: 'The listener.', schema: Listener };

export const listenerRoutes = bindRoutes([
  route.get('/v2/listeners', {
    id: 'listListeners',
    summary: 'List listeners: places where deployments can run.',
    access: 'read',
    query: buildClosedSchema(paging),
    answers: { 200: describePage(Listener) },
    handler: ({ query, caller }, plane) => {
      const { items, offset } = takePage(
        listOwnListeners(plane, caller.tenantId).toSorted(compareNewestFirst),
        query,
      );
      return answerJson({
        resources: items.map((listener) =>
          toListenerAnswer(listener, plane.config.defaultTenantId),
        ),
        offset,
      });
    },
  }),
  route.get(path, {
    id: 'getListener',
    summary: 'Get a listener.',
    access: 'read',
    params: Path,
    answers: { 200: one },
    handler: async ({ params, ...asking }, plane) =>
      answerJson(
        toListenerAnswer(
          await findListener(plane, params.listener_id, asking),
          plane.config.defaultTenantId,
        ),
      ),
  }),
  route.post('/v2/listeners', {
    id: 'createListener',
    summary:
      'Create a listener: namespaces of this cluster that take deployments of this tenant. Needs the role admin.',
    access: 'admin',
    body: ListenerCreateRequest,
    answers: {
      201: one,
      400: rejected,
      409: { description: 'The compute id or a namespace is taken.' },
    },
    handler: async ({ body, ...asking }, plane) =>
      answerJson(
        toListenerAnswer(await createListener(plane, body, asking), plane.config.defaultTenantId),
        201,
      ),
  }),
  route.patch(path, {
    id: 'patchListener',
    summary: "Change a listener's namespaces. Needs the role admin.",
    access: 'admin',
    params: Path,
    body: ListenerPatchRequest,
    answers: { 200: one, 400: rejected, 409: { description: 'A namespace is taken.' } },
    handler: async ({ params, ...asking }, plane) =>
      answerJson(
        toListenerAnswer(
          await patchListener(plane, params.listener_id, asking),
          plane.config.defaultTenantId,
        ),
      ),
  }),
  route.delete(path, {
    id: 'deleteListener',
    summary: 'Delete a listener that holds no deployment. Needs the role admin.',
    access: 'admin',
    params: Path,
    answers: { 204: { description: 'Deleted.' }, 409: { description: 'It holds deployments.' } },
    handler: async ({ params, ...asking }, plane) => {
      await removeListener(plane, params.listener_id, asking);
      return answerNoContent();
    },
  }),
]);
