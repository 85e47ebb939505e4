import { Type, type Static } from 'typebox';
import { buildJsonObjectSchema } from '../../agent/agent-types.ts';
import { buildEnumSchema } from '../../types.ts';
import type { Json } from '../../json.ts';

/* Questions to the handlers of `auth.path`, and their answers. */

/** The names are those of `@langchain/langgraph-sdk/auth`. */
export const AUTH_EVENTS = [
  'threads:create',
  'threads:read',
  'threads:update',
  'threads:delete',
  'threads:search',
  'threads:create_run',
  'assistants:create',
  'assistants:read',
  'assistants:update',
  'assistants:delete',
  'assistants:search',
  'crons:create',
  'crons:read',
  'crons:update',
  'crons:delete',
  'crons:search',
  'store:put',
  'store:get',
  'store:search',
  'store:list_namespaces',
  'store:delete',
] as const;

export const AuthEvent = buildEnumSchema(AUTH_EVENTS);
export type AuthEvent = Static<typeof AuthEvent>;

const user = {
  identity: Type.String(),
  display_name: Type.String(),
  is_authenticated: Type.Boolean(),
  permissions: Type.Array(Type.String()),
};
/** Whom a handler let in, with all else that it says of the user. The graph gets it as `langgraph_auth_user`. */
export type AuthUser = Json & {
  [K in keyof typeof user]: Static<(typeof user)[K]>;
};
export const AuthUser = Type.Unsafe<AuthUser>(Type.Object(user));

/** A handler's answer: the value as the handler left it, and which records the caller may touch. */
export const HandlerAnswer = Type.Object({
  value: buildJsonObjectSchema('The value as the handler left it.'),
  filter: Type.Optional(Type.Unknown()),
});
export type HandlerAnswer = Static<typeof HandlerAnswer>;
