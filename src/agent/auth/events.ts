import type { JsonObject } from '../../schema/agent-types.ts';

/** What handlers are asked, with the names of `@langchain/langgraph-sdk/auth`. */
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
export type AuthEvent = (typeof AUTH_EVENTS)[number];

/** Whom a handler let in. The graph gets it as `langgraph_auth_user`. */
export type AuthUser = JsonObject & { identity: string; display_name: string; is_authenticated: boolean; permissions: string[] };

/** The names under which a handler for the event may be registered. The first that is there is asked, and no other. */
export function handlerNames(event: AuthEvent): string[] {
  const [resource = '', action = ''] = event.split(':');
  return [event, resource, `*:${action}`, '*'];
}

/** A handler's word: what it made of the value, and which records the caller may touch. */
export type HandlerAnswer = { value: JsonObject; filter: unknown };
