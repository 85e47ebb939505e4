import { Type } from 'typebox';
import { json, type Route } from '../../http/route.ts';
import { DateTime, Nullable, StringEnum, Uuid } from '../../schema/types.ts';
import { ROLES, type Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { failures, restRoute } from './route.ts';

const WhoAmI = Type.Object({
  subject: Type.String({ description: 'Id of the API key, or the subject of the token.' }),
  name: Type.String({ description: 'Name of the API key, or the subject of the token.' }),
  role: StringEnum(ROLES),
  tenant_id: Uuid('Tenant of this request.'),
  tenants: Type.Array(Uuid('Tenant that X-Tenant-Id may name.')),
  expires_at: Nullable(DateTime('When the credentials end. null: never.')),
  features: Type.Object({
    hosting: StringEnum(['self-hosted', 'cloud', 'both'], { description: 'The kinds of deployments that may be created.' }),
    routes: Type.Boolean({ description: 'Whether deployments may have routes from outside.' }),
    git_credentials: Type.Boolean({ description: 'Whether REST takes connections to git hosts.' }),
  }),
});

/** Returns the route by which a client learns whose credentials it has, and which features this installation has. */
export const whoamiRoutes = (plane: Pick<ControlPlane, 'config'>): Route<Caller>[] => [
  restRoute({
    method: 'get',
    path: '/v2/whoami',
    id: 'whoami',
    summary: 'Whose credentials these are, and the features of this installation.',
    tag: 'system',
    access: 'read',
    answers: { 200: { description: 'They are valid.', schema: WhoAmI }, ...failures },
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
