import { Auth, HTTPException } from '@langchain/langgraph-sdk/auth';

/*
 * Each user owns what it makes. A token is a name, and may end with what its user is not let do: `ann!threads:read`.
 */

let asked = 0;

const never = (): never => {
  for (;;);
};

export const auth = new Auth()
  .authenticate(async (request: Request) => {
    asked += 1;
    const token = request.headers.get('authorization')?.replace('Bearer ', '');
    if (token === undefined)
      throw new HTTPException(401, {
        message: 'Who are you?',
        headers: { 'www-authenticate': 'Bearer' },
      });
    if (token === 'banned') throw new HTTPException(418, { message: 'Not you.' });
    if (token === 'broken') throw new Error('the secret of the directory');
    if (token === 'nobody') return undefined as never;
    if (token === 'unnamed') return { identity: null } as never;
    if (token === 'numbered') return { identity: 7 } as never;
    // Callers who do not say who they are.
    if (token === 'anonymous')
      return { identity: '', permissions: ['reads'], is_authenticated: false };
    if (token === 'stuck') never();
    if (token === 'silent') return new Promise<never>(() => undefined);
    const [identity = '', denied = ''] = token.split('!');
    return { identity, permissions: [denied], asked, path: new URL(request.url).pathname };
  })
  .on('*', ({ event, value, user, permissions }) => {
    if (permissions.includes(event)) return false;
    const owned = value as { metadata?: Record<string, unknown>; namespace?: string[] };
    if ('metadata' in owned) owned.metadata = { ...owned.metadata, owner: user.identity };
    if (event.startsWith('store:')) {
      owned.namespace = [user.identity, ...(owned.namespace ?? [])];
      return undefined as never;
    }
    return { owner: user.identity };
  })
  .on('threads:search', ({ user, permissions }) => {
    if (permissions.includes('threads:search')) return false;
    const [, teams] = user.identity.split('in teams ');
    return teams === undefined
      ? { owner: user.identity }
      : ({ teams: { $contains: JSON.parse(teams) } } as never);
  })
  .on('assistants:search', ({ user, permissions }) => {
    if (permissions.includes('assistants:search')) return false;
    return user.identity === 'odd' ? ({ $or: [] } as never) : { owner: user.identity };
  });
