import { json, type Route } from '../../http/route.ts';
import { WhoAmI } from '../../schema/platform/whoami.ts';
import type { Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { restRoutes } from './route.ts';

const restRoute = restRoutes('system');

/** Returns the route by which a client learns whose credentials it has, and which features this installation has. */
export const whoamiRoutes = (plane: Pick<ControlPlane, 'config'>): Route<Caller>[] => [
  restRoute({
    method: 'get',
    path: '/v2/whoami',
    id: 'whoami',
    summary: 'Whose credentials these are, and the features of this installation.',
    access: 'read',
    answers: { 200: { description: 'They are valid.', schema: WhoAmI } },
    handler: async ({ caller }) => {
      const { tenantId, role, keyId, keyName, tenants = [tenantId], expiresAt = null } = caller;
      const { hosting, route, gitNamespace } = plane.config;
      return json({
        subject: keyId ?? keyName,
        name: keyName,
        role,
        tenant_id: tenantId,
        tenants,
        expires_at: expiresAt,
        features: { hosting, routes: route !== undefined, git_credentials: gitNamespace !== undefined },
      });
    },
  }),
];
