import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { GitHost } from '../cluster/provider.ts';
import { Unhealthy } from '../errors.ts';
import { isFulfilled } from '../commands.ts';

/** An account of the local git host, whose token may do everything there. */
export type GitAccount = { host: GitHost; user: string; token: string };

/** A repository: its URL for pushes from this machine, with the account's token, and its URL for the cluster. */
export type Repository = { name: string; pushUrl: string; url: string };

const USER = 'gx';

const accounts = new Map<string, Promise<GitAccount>>();

/**
 * Returns the account of the git host, which is made on first use, with a token of this process. One at a time is made,
 * because the host's commands take no turns.
 */
export function gitAccount(host: GitHost): Promise<GitAccount> {
  const account = accounts.get(host.url) ?? makeAccount(host);
  accounts.set(host.url, account);
  return account;
}

async function makeAccount(host: GitHost): Promise<GitAccount> {
  const password = randomBytes(16).toString('hex');
  const wanted = ['--username', USER, '--password', password, '--email', `${USER}@example.com`, '--must-change-password=false'];
  // It fails for a user that exists, who then gets a token or the reason why not.
  await isFulfilled(host.command('admin', 'user', 'create', '--admin', ...wanted));
  const named = ['--username', USER, '--token-name', `run-${randomBytes(6).toString('hex')}`, '--scopes', 'all', '--raw'];
  const token = await host.command('admin', 'user', 'generate-access-token', ...named);
  const last = token.trim().split('\n').at(-1) ?? '';
  if (last === '') throw new Unhealthy(`The git host made no token for ${USER}`);
  return { host, user: USER, token: last };
}

/** Creates a private repository with these files, unless it is there. */
export async function createRepository(account: GitAccount, name: string, files: Record<string, string>): Promise<Repository> {
  const { host, user, token } = account;
  const created = await ask(account, 'POST', '/user/repos', { name, private: true, default_branch: 'main' });
  if (created.status !== 409) {
    await refuseUnless(created);
    await commitFiles(account, { name, message: 'The agent', files });
  }
  const pushUrl = new URL(`${host.url}/${user}/${name}.git`);
  [pushUrl.username, pushUrl.password] = [user, token];
  return { name, pushUrl: pushUrl.href, url: `http://${host.name}/${user}/${name}.git` };
}

type Commit = { name: string; message: string; files: Record<string, string>; branch?: string };

/** Writes the files in one commit of a branch, as a push does, and returns the commit. */
export async function commitFiles(account: GitAccount, { name, message, files, branch = 'main' }: Commit): Promise<string> {
  const changes = Object.entries(files).map(([path, text]) => ({
    operation: 'upload',
    path,
    content: Buffer.from(text).toString('base64'),
  }));
  const response = await ask(account, 'POST', `/repos/${account.user}/${name}/contents`, { branch, message, files: changes });
  await refuseUnless(response);
  return ((await response.json()) as { commit: { sha: string } }).commit.sha;
}

/** Has the host report every push to the repository to this address, signed with the secret. */
export async function tellPushes(account: GitAccount, name: string, to: { url: string; secret: string }): Promise<void> {
  const hooks = `/repos/${account.user}/${name}/hooks`;
  const config = { url: to.url, secret: to.secret, content_type: 'json' };
  await refuseUnless(await ask(account, 'POST', hooks, { type: 'gitea', events: ['push'], active: true, config }));
}

/** Returns the files of a folder as texts, by path. */
export function filesIn(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const names = paths.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  const own = names.filter((name) => !/(^|\/)(node_modules|\.gx)\//.test(name));
  return Object.fromEntries(own.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

function ask({ host, token }: GitAccount, method: string, path: string, body: object): Promise<Response> {
  const headers = { authorization: `token ${token}`, 'content-type': 'application/json' };
  return fetch(`${host.url}/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
}

async function refuseUnless(response: Response): Promise<void> {
  if (!response.ok) throw new Unhealthy(`The git host answered ${response.status} at ${response.url}: ${await response.text()}`);
}
