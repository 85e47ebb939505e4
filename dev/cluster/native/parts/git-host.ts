import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GitCredential } from '../../provider.ts';
import { getStatePaths, type Layout } from '../layout.ts';
import { formatJson, type NodePart } from '../node-part.ts';

/** The port at which the git host answers, at the node's address. */
export const GIT_PORT = 3000;

/** The name by which pods reach the git host of a native cluster, over plain HTTP. */
export const GIT_HOST = `git.gx-platform.local:${GIT_PORT}`;

const USER = 'gx';
const SERVER = join(import.meta.dirname, '..', 'git-server', 'main.ts');

/** Runs git's own HTTP backend, so that a deployment can be built from a repository without any host elsewhere. */
export const gitHost: NodePart = {
  extra: 'git',
  files: ({ layout }) => ({
    [getAccountPath(layout)]: formatJson({ user: USER, token: randomBytes(16).toString('hex') }),
  }),
  processes: (layout) => [
    {
      name: 'git-host',
      tool: 'node',
      args: [SERVER, getStatePaths(layout).gitHost, getAccountPath(layout), String(GIT_PORT)],
    },
  ],
};

const getAccountPath = (layout: Layout): string => getStatePaths(layout).config('git-account.json');

/** Returns the only account, which may do everything. */
export const readGitHostAccount = (layout: Layout): GitCredential =>
  JSON.parse(readFileSync(getAccountPath(layout), 'utf8')) as GitCredential;
