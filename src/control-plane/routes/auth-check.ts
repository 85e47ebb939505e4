import { answerJson, bindRoutes } from '../../http/routes/route.ts';
import { AuthCheck, AuthCheckRequest } from '../../schema/wire/auth-check.ts';
import type { ControlPlane } from '../control-plane.ts';
import { findDeployment } from '../deployments/lookup.ts';
import { buildRestRouteMakers } from './route.ts';

const route = buildRestRouteMakers<[ControlPlane]>('deployments');

/**
 * Returns the route by which agents ask about the keys of their callers. An agent has no key of its own: it sends the
 * caller's, so that the agent learns no more than the key's holder may know.
 */
export const authCheckRoutes = bindRoutes([
  route.post('/v2/auth/check', {
    id: 'checkAuth',
    summary:
      'Check whether the credentials may call the agents of a deployment, and whose they are.',
    access: 'read',
    body: AuthCheckRequest,
    answers: {
      200: { description: 'They may.', schema: AuthCheck },
      404: { description: 'No deployment of their tenant has this id.' },
    },
    handler: async (request, plane) => {
      await findDeployment(plane, request.body.deployment_id, request);
      const { tenantId, role, keyId, keyName } = request.caller;
      return answerJson({ tenant_id: tenantId, role, subject: keyId ?? keyName, name: keyName });
    },
  }),
]);
