import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { json as bodyOf } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { GitCredential } from '../../provider.ts';
import { runGitBackend } from './cgi.ts';
import { HOOK_FILE, type Hook } from './push-hook.ts';

/** The folder of repositories, and the only account, which may do everything. */
export type GitServer = { folder: string; account: GitCredential };

const GIT_PATH =
  /^\/(?<user>[\w-]+)\/(?<name>[\w.-]+?)(?:\.git)?(?<path>\/(?:info\/refs|HEAD|objects\/.+|git-upload-pack|git-receive-pack))$/;
const HOOKS_PATH = /^\/api\/v3\/repos\/(?<user>[\w-]+)\/(?<name>[\w.-]+)\/hooks$/;
const REPOSITORIES_PATH = '/api/v3/user/repos';
const NAME = /^\w[\w.-]{0,99}$/;
const PUSH_HOOK = join(import.meta.dirname, 'push-hook.ts');

/**
 * Serves the repositories of a folder: git's own protocol by git's own program, and as much of GitHub's API as makes a
 * repository, lists them and has pushes reported.
 */
export const createGitServer = (server: GitServer): Server =>
  createServer((request, response) => {
    answer(server, request, response).catch((error: unknown) => {
      process.stderr.write(`${request.method} ${request.url}: ${String(error)}\n`);
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { message: 'The git host failed; its log says why.' });
    });
  });

async function answer(
  server: GitServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://git');
  if (url.pathname === '/healthz') return sendJson(response, 200, {});
  if (!isAllowed(server.account, request.headers.authorization)) {
    response.setHeader('www-authenticate', 'Basic realm="git"');
    return sendJson(response, 401, { message: 'Bad credentials' });
  }
  if (url.pathname === REPOSITORIES_PATH) return answerRepositories(server, request, response);
  const hooks = HOOKS_PATH.exec(url.pathname)?.groups;
  const named = hooks ?? GIT_PATH.exec(url.pathname)?.groups;
  const folder = named && getRepositoryFolder(server, named['name'] ?? '');
  if (named?.['user'] !== server.account.user || folder === undefined || !existsSync(folder))
    return sendJson(response, 404, { message: 'Not Found' });
  if (hooks === undefined)
    return runGitBackend(request, response, {
      folder,
      path: named['path'] ?? '',
      query: url.search.slice(1),
      user: server.account.user,
    });
  if (request.method !== 'POST')
    return sendJson(response, 405, { message: 'Only POST is known here.' });
  const { config } = (await bodyOf(request)) as { config: Hook };
  await writeFile(
    join(folder, HOOK_FILE),
    JSON.stringify({ url: config.url, secret: config.secret }),
    { mode: 0o600 },
  );
  sendJson(response, 201, { active: true, events: ['push'] });
}

/** Returns whether the header shows the account's token: by Basic, as git does, or as GitHub's API takes it. */
function isAllowed({ token }: GitCredential, authorization = ''): boolean {
  const [scheme = '', value = ''] = authorization.split(' ');
  const shown =
    scheme.toLowerCase() === 'basic'
      ? Buffer.from(value, 'base64').toString().split(':').slice(1).join(':')
      : value;
  return shown === token;
}

const getRepositoryFolder = ({ folder }: GitServer, name: string): string =>
  join(folder, `${name}.git`);

async function answerRepositories(
  server: GitServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === 'GET') {
    const names = existsSync(server.folder)
      ? readdirSync(server.folder).filter((name) => name.endsWith('.git'))
      : [];
    return sendJson(
      response,
      200,
      names.map((name, index) => toRepositoryRecord(server, name.replace(/\.git$/, ''), index + 1)),
    );
  }
  const { name } = (await bodyOf(request)) as { name: string };
  if (!NAME.test(name))
    return sendJson(response, 422, { message: 'name: letters, digits, and . _ - are allowed.' });
  if (existsSync(getRepositoryFolder(server, name)))
    return sendJson(response, 422, { message: 'name already exists on this account' });
  await makeRepository(getRepositoryFolder(server, name), `${server.account.user}/${name}`);
  sendJson(response, 201, toRepositoryRecord(server, name, 1));
}

const toRepositoryRecord = ({ account }: GitServer, name: string, id: number): object => ({
  id,
  name,
  full_name: `${account.user}/${name}`,
  private: true,
  default_branch: 'main',
});

/** Makes an empty repository, whose pushes the hook reports. It appears whole: no other call finds half of it. */
async function makeRepository(folder: string, fullName: string): Promise<void> {
  const unfinished = `${folder}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  await promisify(execFile)('git', [
    'init',
    '--quiet',
    '--bare',
    '--initial-branch=main',
    unfinished,
  ]);
  const hook = join(unfinished, 'hooks', 'post-receive');
  await mkdir(join(unfinished, 'hooks'), { recursive: true });
  await writeFile(hook, `#!/bin/sh\nexec '${process.execPath}' '${PUSH_HOOK}' '${fullName}'\n`);
  await chmod(hook, 0o755);
  await rename(unfinished, folder);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
