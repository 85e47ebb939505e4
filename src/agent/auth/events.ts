import type { AuthEvent } from '../../schema/wire/wall/auth.ts';

/** The names under which a handler for the event may be registered. The first that is there is asked, and no other. */
export function handlerNames(event: AuthEvent): string[] {
  const [resource = '', action = ''] = event.split(':');
  return [event, resource, `*:${action}`, '*'];
}
