import { execFileSync, spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { extendEnvironment } from '../../../env.ts';

const backend = join(
  execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(),
  'git-http-backend',
);

/** Which repository a request is for: a folder, and the path below it, such as `/info/refs`. */
export type GitRequest = {
  folder: string;
  path: string;
  query: string;
  /** The user, who may push. Unset: a caller who may read. */
  user?: string;
};

/** Lets git's own program answer a request, which speaks CGI (RFC 3875). */
export function runGitBackend(
  request: IncomingMessage,
  response: ServerResponse,
  { folder, path, query, user }: GitRequest,
): void {
  const { headers, method = 'GET' } = request;
  const child = spawn(backend, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: extendEnvironment({
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: method,
      CONTENT_TYPE: headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
      ...(headers['content-length'] !== undefined && { CONTENT_LENGTH: headers['content-length'] }),
      ...(user !== undefined && { REMOTE_USER: user }),
    }),
  });
  // A backend that refuses a request does not read its body.
  child.stdin.on('error', () => {});
  child.on('error', () => response.destroy());
  response.on('close', () => void child.kill());
  request.pipe(child.stdin);
  let head = Buffer.alloc(0);
  child.stdout.on('data', (piece: Buffer) => {
    if (response.headersSent) return void response.write(piece);
    head = Buffer.concat([head, piece]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const fields = head.subarray(0, end).toString().split('\r\n').map(readField);
    const status = Number(fields.find(([name]) => name === 'status')?.[1].slice(0, 3) ?? 200);
    response.writeHead(status, Object.fromEntries(fields.filter(([name]) => name !== 'status')));
    response.write(head.subarray(end + 4));
  });
  child.stdout.on('end', () =>
    response.headersSent ? response.end() : response.writeHead(500).end(),
  );
}

function readField(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}
