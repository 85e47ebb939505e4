import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Git itself behind smart HTTP, with one repository `team/chat`. */
export type GitHttp = {
  url: string;
  /** Requests so far. */
  asked: string[];
  /** Makes a commit on a branch and returns it. */
  push(branch: string): string;
  /** Tags the head of a branch with a message. */
  tag(name: string, branch: string): void;
  /** Answers everything with this status; undefined: as git does. */
  fail(status: number | undefined): void;
  stop(): Promise<void>;
};

const WHO = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];

/** Starts a server on this machine. `older` speaks the protocol before version 2. */
export async function startGitHttp({
  older = false,
  objectFormat = 'sha1',
} = {}): Promise<GitHttp> {
  const folder = join(mkdtempSync(join(tmpdir(), 'gx-git-')), 'chat');
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', folder, ...WHO, ...args], { encoding: 'utf8' }).trim();
  execFileSync('git', ['init', '-q', '-b', 'main', `--object-format=${objectFormat}`, folder]);
  const asked: string[] = [];
  let failure: number | undefined;
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://git');
    asked.push(`${request.method} ${pathname}`);
    if (failure !== undefined) return void response.writeHead(failure).end();
    if (!pathname.startsWith('/team/chat/')) return void response.writeHead(404).end();
    const isAdvertised = pathname.endsWith('/info/refs');
    const args = [
      'upload-pack',
      '--stateless-rpc',
      ...(isAdvertised ? ['--advertise-refs'] : []),
      folder,
    ];
    const given = request.headers['git-protocol'];
    const protocol = older || typeof given !== 'string' ? {} : { GIT_PROTOCOL: given };
    const child = spawn('git', args, {
      env: { ...process.env, ...protocol },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    response.writeHead(200, {
      'content-type': `application/x-git-upload-pack-${isAdvertised ? 'advertisement' : 'result'}`,
    });
    if (isAdvertised) response.write('001e# service=git-upload-pack\n0000');
    request.pipe(child.stdin);
    child.stdout.pipe(response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    push: (branch) => {
      git('checkout', '-q', '-B', branch);
      git('commit', '-q', '--allow-empty', '-m', `on ${branch}`);
      return git('rev-parse', 'HEAD');
    },
    tag: (name, branch) => void git('tag', '-a', '-m', name, name, branch),
    fail: (status) => (failure = status),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
