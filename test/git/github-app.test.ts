import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  buildGitAuthorization,
  readGitCredential,
  fetchGitToken,
} from '../../src/git/credential.ts';
import { buildGitPlaces } from '../../src/git/places.ts';
import { listGitRepositories } from '../../src/git/repositories.ts';
import { Lookups } from '../../src/http/outgoing/lookups.ts';
import { startGitHubAppStub, type GitHubAppStub } from '../kit/github-app-stub.ts';

/* GitHub itself is a stub here, which checks assertions with the App's public key. */
const signal = new AbortController().signal;
const ONE = { id: 1, full_name: 'acme/one', default_branch: 'trunk' };
let github: GitHubAppStub;
beforeAll(async () => {
  github = await startGitHubAppStub([
    ONE,
    { id: 2, full_name: 'other/two', default_branch: 'main' },
  ]);
});
afterAll(() => github.stop());

const places = () => buildGitPlaces({ gitHosts: [github.url], gitIntegrations: [] }, new Lookups());
type Keys = Partial<GitHubAppStub['app']>;

/** The token that the Secret of an App leads to. */
const tokenFor = (changed: Keys = {}) => {
  const data = Object.entries({ ...github.app, ...changed }).map(([key, value]) => [
    key,
    Buffer.from(value).toString('base64'),
  ]);
  return fetchGitToken(
    readGitCredential(Object.fromEntries(data)),
    { kind: 'github', host: github.url, places: places() },
    signal,
  );
};
const list = (token: Awaited<ReturnType<typeof tokenFor>>) => {
  const integration = {
    id: 'one',
    tenantId: 'a',
    name: 'acme',
    installationId: 0,
    kind: 'github' as const,
    host: github.url,
    repositories: ['acme/*'],
  };
  return listGitRepositories({ integration, token, places: places(), signal });
};
const pem = (type: 'rsa' | 'ec') =>
  (type === 'rsa'
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  ).privateKey
    .export({ type: 'pkcs8', format: 'pem' })
    .toString();

test('the key of an App becomes a token, which lists the repositories of the installation and opens them to git', async () => {
  const token = await tokenFor();
  expect(token).toEqual({ token: github.given.at(-1), username: 'x-access-token', isApp: true });
  expect(await list(token)).toEqual([
    { id: 1, name: 'one', owner: 'acme', url: `${github.url}/acme/one`, defaultBranch: 'trunk' },
  ]);
  const shown = Buffer.from(`x-access-token:${token?.token}`).toString('base64');
  expect(buildGitAuthorization('github', token!)).toBe(`Basic ${shown}`);
  const { iss, iat, exp } = github.assertions.at(-1)!;
  expect(iss).toBe('4711');
  expect(Number(exp) - Number(iat)).toBeLessThanOrEqual(600);
});

test('a token that has ended is refused with what to do, and the next look gets a new one', async () => {
  const old = await tokenFor();
  github.expire();
  await expect(list(old)).rejects.toMatchObject({
    name: 'Rejected',
    message: expect.stringContaining('refuses the credential'),
  });
  const next = await tokenFor();
  expect(next?.token).not.toBe(old?.token);
  expect(await list(next)).toHaveLength(1);
});

test.each([
  [
    "another App's key",
    { privateKey: pem('rsa') },
    'refuses the credential of the integration (401)',
  ],
  ['the id of another App', { appId: '1' }, 'refuses the credential of the integration (401)'],
  ['an installation that the App has not', { installationId: '1' }, 'does not know this'],
  ['a key that is none', { privateKey: 'secret' }, 'privateKey is no RSA key in PEM form'],
  ['a key of another kind', { privateKey: pem('ec') }, 'privateKey is no RSA key in PEM form'],
])('%s gives a clear error and no token', async (_, changed: Keys, message) => {
  const before = github.given.length;
  await expect(tokenFor(changed)).rejects.toMatchObject({
    name: 'Rejected',
    message: expect.stringContaining(message),
  });
  expect(github.given).toHaveLength(before);
});
