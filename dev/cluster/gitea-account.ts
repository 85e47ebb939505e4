import { randomBytes } from 'node:crypto';
import { isFulfilled } from '../commands.ts';
import { Unhealthy } from '../errors.ts';
import type { GitCredential } from './provider.ts';

const USER = 'gx';

/** Runs Gitea's command line, such as `admin user create`, and returns its output. */
type GiteaCommand = (...args: string[]) => Promise<string>;

/** Makes the account of a Gitea, unless it is there, and a token for it. Its commands take no turns. */
export async function makeGiteaAccount(gitea: GiteaCommand): Promise<GitCredential> {
  const password = randomBytes(16).toString('hex');
  const wanted = [
    '--username',
    USER,
    '--password',
    password,
    '--email',
    `${USER}@example.com`,
    '--must-change-password=false',
  ];
  // It fails for a user that exists, who then gets a token or the reason why not.
  await isFulfilled(gitea('admin', 'user', 'create', '--admin', ...wanted));
  const named = [
    '--username',
    USER,
    '--token-name',
    `run-${randomBytes(6).toString('hex')}`,
    '--scopes',
    'all',
    '--raw',
  ];
  const token = await gitea('admin', 'user', 'generate-access-token', ...named);
  const last = token.trim().split('\n').at(-1) ?? '';
  if (last === '') throw new Unhealthy(`The git host made no token for ${USER}`);
  return { user: USER, token: last };
}
