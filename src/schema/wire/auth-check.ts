import { Type, type Static } from 'typebox';
import { buildClosedSchema, buildEnumSchema, buildUuidSchema } from '../types.ts';

/** The header in which an agent names its deployment, for which a check that fails counts: before a body is read. */
export const FOR_DEPLOYMENT = 'x-gx-deployment-id';

/** An agent's question to the control plane about a caller's key, which it sends along as its own. */
export const AuthCheckRequest = buildClosedSchema({
  deployment_id: buildUuidSchema('The deployment to be called.'),
});

/** Whose the key is that opens the deployment. */
export const AuthCheck = buildClosedSchema({
  tenant_id: buildUuidSchema('The tenant of the deployment and of the key.'),
  role: buildEnumSchema(['read', 'write', 'admin'], {
    description: 'A key with the role read may only read.',
  }),
  subject: Type.String({ description: "The key's id, or the subject of a token." }),
  name: Type.String({ description: 'Its name for people.' }),
});
export type AuthCheck = Static<typeof AuthCheck>;
