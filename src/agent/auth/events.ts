import { AUTH_EVENTS, type AuthEvent } from '../../schema/wire/wall/auth.ts';

/** The names under which a handler for the event may be registered. The first that is there is asked, and no other. */
export function listHandlerNames(event: AuthEvent): string[] {
  const [resource = '', action = ''] = event.split(':');
  return [event, resource, `*:${action}`, '*'];
}

/** Returns those of the names under which no event finds a handler. */
export function listUnknownHandlers(names: Iterable<string>): string[] {
  const known = new Set(AUTH_EVENTS.flatMap(listHandlerNames));
  return [...names].filter((name) => !known.has(name));
}
