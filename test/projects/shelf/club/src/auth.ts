import { Auth, HTTPException } from '@langchain/langgraph-sdk/auth';

const MEMBERS: Record<string, string> = { 'token-of-ann': 'ann', 'token-of-bob': 'bob' };

export const auth = new Auth()
  .authenticate(async (request) => {
    const header = request.headers.get('authorization') ?? '';
    if (header === '') return { identity: '', is_authenticated: false, permissions: [] };
    const identity = MEMBERS[header.replace(/^Bearer /i, '')];
    if (identity === undefined) throw new HTTPException(401, { message: 'Members only' });
    return { identity, permissions: ['enter'], is_authenticated: true };
  })
  .on('*', ({ value, user }) => {
    if (user.identity === '') throw new HTTPException(403, { message: 'Sign in first' });
    const filters = { owner: user.identity };
    if (typeof value === 'object' && value !== null && 'metadata' in value) value.metadata = { ...value.metadata, ...filters };
    return filters;
  })
  .on('assistants', () => true);
