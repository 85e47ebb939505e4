import { Auth } from '@langchain/langgraph-sdk/auth';

/** Each caller owns what it makes. */
export const auth = new Auth()
  .authenticate((request: Request) => request.headers.get('authorization') ?? 'nobody')
  .on('*', ({ value, user }) => {
    if ('metadata' in value) value.metadata = { ...value.metadata, owner: user.identity };
    return { owner: user.identity };
  });
