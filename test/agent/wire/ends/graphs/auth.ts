import { readFileSync } from 'node:fs';
import { Auth, HTTPException } from '@langchain/langgraph-sdk/auth';

/* A token is good as long as the file names it. */

export const auth = new Auth().authenticate((request: Request) => {
  const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? '';
  const good = readFileSync(process.env.GOOD_TOKENS ?? '', 'utf8').split('\n');
  if (!good.includes(token)) throw new HTTPException(401, { message: 'Who are you?' });
  return token;
});
