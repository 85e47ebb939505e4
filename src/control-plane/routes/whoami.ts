import { answerJson, bindRoutes } from '../../http/routes/route.ts';
import { WhoAmI } from '../../schema/platform/deployment/whoami.ts';
import type { ControlPlane } from '../control-plane.ts';
import { buildRestRouteMakers } from './route.ts';

const route = buildRestRouteMakers<[ControlPlane]>('system');

/** Returns the route by which a client learns whose credentials it has, and which features this installation has. */
export const whoamiRoutes = bindRoutes([
  route.get('/v2/whoami', {
    id: 'whoami',
    summary: "Get the caller's identity and the features of this installation.",
    access: 'read',
    answers: { 200: { description: 'They are valid.', schema: WhoAmI } },
    handler: async ({ caller }, plane) => {
      const { tenantId, role, keyId, keyName, tenants = [tenantId], expiresAt = null } = caller;
      const { hosting, route: hosts, gitNamespace } = plane.config;
      return answerJson({
        subject: keyId ?? keyName,
        name: keyName,
        role,
        tenant_id: tenantId,
        tenants,
        expires_at: expiresAt,
        features: {
          hosting,
          routes: hosts !== undefined,
          git_credentials: gitNamespace !== undefined,
        },
      });
    },
  }),
]);
