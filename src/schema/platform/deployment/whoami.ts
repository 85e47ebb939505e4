import { Type, type Static } from 'typebox';
import {
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
} from '../../types.ts';

/** Whose credentials a request has, and the features of the installation. */
export const WhoAmI = Type.Object({
  subject: Type.String({ description: 'Id of the API key, or the subject of the token.' }),
  name: Type.String({ description: 'Name of the API key, or the subject of the token.' }),
  role: buildEnumSchema(['read', 'write', 'admin']),
  tenant_id: buildUuidSchema('Tenant of this request.'),
  tenants: Type.Array(buildUuidSchema('Tenant that X-Tenant-Id may name.')),
  expires_at: buildNullableSchema(buildDateTimeSchema('When the credentials end. null: never.')),
  features: Type.Object({
    hosting: buildEnumSchema(['self-hosted', 'cloud', 'both'], {
      description: 'The kinds of deployments that may be created.',
    }),
    routes: Type.Boolean({ description: 'Whether deployments may have routes from outside.' }),
    git_credentials: Type.Boolean({ description: 'Whether REST takes connections to git hosts.' }),
  }),
});
export type WhoAmI = Static<typeof WhoAmI>;
