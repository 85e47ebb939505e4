import { generateKeyPairSync, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

type Claims = { iss?: unknown; iat?: unknown; exp?: unknown };

/** A stub of what GitHub does for one App and one installation of it. It is not GitHub. */
export type GitHubAppStub = {
  url: string;
  app: { appId: string; installationId: string; privateKey: string };
  /** The claims of the assertions that it took. */
  assertions: Claims[];
  /** The tokens that it gave. */
  given: string[];
  /** Ends the tokens that it gave so far, as an hour does. */
  expire(): void;
  stop(): Promise<void>;
};

/** Starts a stub that gives tokens to whoever signs with the App's key, and lists these repositories to such tokens. */
export async function startGitHubAppStub(repositories: object[]): Promise<GitHubAppStub> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  const app = { appId: '4711', installationId: '815', privateKey: pem };
  const [assertions, given, live]: [Claims[], string[], Set<string>] = [[], [], new Set()];
  const claimsOf = (jwt: string): Claims | undefined => {
    const [head = '', claims = '', signature = ''] = jwt.split('.');
    if (
      !verify(
        'RSA-SHA256',
        Buffer.from(`${head}.${claims}`),
        publicKey,
        Buffer.from(signature, 'base64url'),
      )
    )
      return undefined;
    const { alg } = fromPart(head) as { alg?: unknown };
    const found = fromPart(claims) as Claims;
    return alg === 'RS256' && found.iss === app.appId && isInTime(found) ? found : undefined;
  };
  const answer = ({
    method,
    url = '',
    headers: { authorization = '' },
  }: IncomingMessage): [number, object] => {
    const shown = authorization.replace(/^Bearer /, '');
    if (url.startsWith('/api/v3/installation/repositories'))
      return live.has(shown)
        ? [200, { total_count: repositories.length, repositories }]
        : [401, { message: 'Bad credentials' }];
    if (method !== 'POST' || !url.startsWith('/api/v3/app/installations/'))
      return [404, { message: 'Not Found' }];
    const claims = claimsOf(shown);
    if (claims === undefined) return [401, { message: 'A JSON web token could not be decoded' }];
    if (url !== `/api/v3/app/installations/${app.installationId}/access_tokens`)
      return [404, { message: 'Not Found' }];
    assertions.push(claims);
    const token = `ghs_${given.length + 1}`;
    given.push(token);
    live.add(token);
    return [201, { token, expires_at: new Date(Date.now() + 3_600_000).toISOString() }];
  };
  const server = createServer((request, response) => {
    const [status, body] = answer(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    app,
    assertions,
    given,
    expire: () => live.clear(),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const fromPart = (part: string): unknown =>
  JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));

/** GitHub takes assertions that are made by now and that end within ten minutes. */
function isInTime({ iat, exp }: Claims): boolean {
  const now = Date.now() / 1000;
  return (
    typeof iat === 'number' &&
    typeof exp === 'number' &&
    iat <= now &&
    exp > now &&
    exp <= now + 600
  );
}
