import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { GitCredential, GitHost } from '../cluster/provider.ts';
import { runProcess } from '../commands.ts';
import { Unhealthy } from '../errors.ts';

/** An account of the local git host, whose token may do everything there. */
export type GitAccount = GitCredential & { host: GitHost };

/** A repository: its URL for pushes from this machine, with the account's token, and its URL for the cluster. */
export type Repository = { name: string; pushUrl: string; url: string };

/** The path of each kind of host's API, its status for a repository that exists, and its name for a webhook's form. */
const FORMS = {
  github: { api: '/api/v3', exists: 422, hook: { name: 'web' } },
  gitea: { api: '/api/v1', exists: 409, hook: { type: 'gitea' } },
} as const;

const accounts = new Map<string, Promise<GitAccount>>();

/** Returns the account of the git host, which is made on first use of this process. */
export function ensureGitAccount(host: GitHost): Promise<GitAccount> {
  const account = accounts.get(host.url) ?? host.account().then((made) => ({ ...made, host }));
  accounts.set(host.url, account);
  return account;
}

/** Creates a private repository with these files, unless it is there. */
export async function createRepository(
  account: GitAccount,
  name: string,
  files: Record<string, string>,
): Promise<Repository> {
  const { host, user } = account;
  const created = await ask(account, '/user/repos', {
    name,
    private: true,
    default_branch: 'main',
  });
  if (created.status !== FORMS[host.kind].exists) {
    await refuseUnless(created);
    await commit({
      url: buildPushUrl(account, name),
      branch: 'main',
      message: 'The agent',
      files,
      isFirst: true,
    });
  }
  return {
    name,
    pushUrl: buildPushUrl(account, name),
    url: `http://${host.name}/${user}/${name}.git`,
  };
}

function buildPushUrl({ host, user, token }: GitAccount, name: string): string {
  const url = new URL(`${host.url}/${user}/${name}.git`);
  [url.username, url.password] = [user, token];
  return url.href;
}

type Change = { name: string; message: string; files: Record<string, string>; branch?: string };

/** Writes the files in one commit of a branch, pushes it, and returns the commit. */
export const commitFiles = (
  account: GitAccount,
  { name, message, files, branch = 'main' }: Change,
): Promise<string> =>
  commit({ url: buildPushUrl(account, name), branch, message, files, isFirst: false });

type Push = {
  url: string;
  branch: string;
  message: string;
  files: Record<string, string>;
  isFirst: boolean;
};

async function commit({ url, branch, message, files, isFirst }: Push): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gx-commit-'));
  const runGit = (...args: string[]): Promise<string> =>
    runProcess('git', ['-C', folder, ...AUTHOR, ...args]);
  try {
    await runGit('init', '--quiet', '--initial-branch', branch);
    if (!isFirst) {
      await runGit('fetch', '--quiet', '--depth=1', url, branch);
      await runGit('reset', '--quiet', '--hard', 'FETCH_HEAD');
    }
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    // Files that a .gitignore among them names are part of the commit, too.
    await runGit('add', '--all', '--force');
    await runGit('commit', '--quiet', '--allow-empty', '--message', message);
    await runGit('push', '--quiet', url, `HEAD:refs/heads/${branch}`);
    return (await runGit('rev-parse', 'HEAD')).trim();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const AUTHOR = ['user.name=gx', 'user.email=gx@example.com', 'commit.gpgsign=false'].flatMap(
  (setting) => ['-c', setting],
);

/** Has the host report every push to the repository to this address, signed with the secret. */
export async function createPushHook(
  account: GitAccount,
  name: string,
  to: { url: string; secret: string },
): Promise<void> {
  const config = { url: to.url, secret: to.secret, content_type: 'json' };
  const { hook } = FORMS[account.host.kind];
  await refuseUnless(
    await ask(account, `/repos/${account.user}/${name}/hooks`, {
      ...hook,
      events: ['push'],
      active: true,
      config,
    }),
  );
}

/** Returns the files of a folder as texts, by path. */
export function readFolderFiles(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const names = paths.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  const own = names.filter((name) => !/(^|\/)(node_modules|\.gx)\//.test(name));
  return Object.fromEntries(own.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

function ask({ host, token }: GitAccount, path: string, body: object): Promise<Response> {
  const headers = { authorization: `token ${token}`, 'content-type': 'application/json' };
  return fetch(`${host.url}${FORMS[host.kind].api}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
}

async function refuseUnless(response: Response): Promise<void> {
  if (!response.ok)
    throw new Unhealthy(
      `The git host answered ${response.status} at ${response.url}: ${await response.text()}`,
    );
}
