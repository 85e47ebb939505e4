import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';

type Pair = { kid: string | undefined; alg: string; privateKey: CryptoKey; jwk: JWK };

export type Issuer = {
  url: string;
  /** What the discovery document says instead of the truth, where a test makes it lie. */
  lies: Record<string, unknown>;
  /** The paths that were requested. */
  asked: string[];
  /**
   * Returns a token of this issuer for the API `gx`, valid for ten minutes. Claims and header may be replaced or left
   * out.
   */
  token(
    claims?: Record<string, unknown>,
    options?: { key?: Pair; header?: Record<string, unknown> },
  ): Promise<string>;
  /** Makes a new key pair, which signs from now on. It is published beside the others, alone or not at all. */
  rotate(options?: {
    kid?: string | undefined;
    alg?: string;
    publish?: 'beside' | 'alone' | 'not';
  }): Promise<Pair>;
  /** Stops all answers from now on, as if the issuer were down. */
  down(): Promise<void>;
  up(): Promise<void>;
};

const now = (): number => Math.floor(Date.now() / 1000);

/** An OpenID Connect issuer on a real port: discovery, keys, tokens. */
export async function startIssuer(): Promise<Issuer> {
  let published: JWK[] = [];
  let signing: Pair;
  const asked: string[] = [];
  const lies: Record<string, unknown> = {};
  let server = createServer();
  let url = '';
  const documents = (): Record<string, unknown> => ({
    '/.well-known/openid-configuration': { issuer: url, jwks_uri: `${url}/keys`, ...lies },
    '/keys': { keys: published },
  });
  const listen = async (port: number): Promise<void> => {
    server = createServer((request, response) => {
      const document = documents()[request.url ?? ''];
      asked.push(request.url ?? '');
      response.writeHead(document === undefined ? 404 : 200, {
        'content-type': 'application/json',
        connection: 'close',
      });
      response.end(JSON.stringify(document ?? {}));
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  url = `http://127.0.0.1:${port}`;
  const rotate: Issuer['rotate'] = async ({
    kid = crypto.randomUUID(),
    alg = 'RS256',
    publish = 'beside',
  } = {}) => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const id = kid === '' ? undefined : kid;
    const pair: Pair = {
      kid: id,
      alg,
      privateKey,
      jwk: { ...(await exportJWK(publicKey)), ...(id !== undefined && { kid: id }), use: 'sig' },
    };
    if (publish !== 'not') {
      published = [...(publish === 'alone' ? [] : published), pair.jwk];
      signing = pair;
    }
    return pair;
  };
  await rotate();
  const token: Issuer['token'] = async (claims = {}, { key = signing, header = {} } = {}) => {
    const whole = { iss: url, aud: 'gx', sub: 'somebody', iat: now(), exp: now() + 600, ...claims };
    const given = Object.fromEntries(
      Object.entries(whole).filter(([, value]) => value !== undefined),
    );
    return new SignJWT(given)
      .setProtectedHeader({
        alg: key.alg,
        ...(key.kid !== undefined && { kid: key.kid }),
        ...header,
      })
      .sign(key.privateKey);
  };
  const down = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url, lies, asked, token, rotate, down, up: () => listen(port) };
}
