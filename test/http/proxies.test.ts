import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createPlain } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readProxies } from '../../src/config/proxies.ts';
import { SettingsReader } from '../../src/config/env.ts';
import { fetchFromHost } from '../../src/git/host.ts';
import { buildGitPlaces } from '../../src/git/places.ts';
import { sendPost } from '../../src/agent/webhooks/post.ts';
import { Lookups } from '../../src/http/outgoing/lookups.ts';
import { chooseProxy, type Proxies } from '../../src/http/outgoing/proxies.ts';
import {
  createAuthority,
  createCertificate,
} from '../../src/operator/database/own/tls/certificate.ts';
import { fetchIssuerDocument } from '../../src/tokens/issuer-document.ts';
import { startCompanyProxy, type CompanyProxy } from '../kit/company-proxy.ts';

describe('a URL is asked through the proxy of its scheme', () => {
  const [secure, plain] = ['http://proxy:3128', 'http://proxy:3129'];
  const direct = [
    '.svc',
    'git.corp.example',
    '*.lab.example',
    '10.0.0.0/8',
    'fd00::/8',
    'only.example:8443',
    '192.168.1.7',
    ' ',
    '',
  ];
  test.each<[string, string | undefined]>([
    ['https://github.com/a', secure],
    ['http://github.com/a', plain],
    ['https://gx-control-plane.gx-system.svc/v2', undefined],
    ['https://git.corp.example/', undefined],
    ['https://GIT.corp.example:8443/', undefined],
    ['https://sub.git.corp.example/', undefined],
    ['https://nogit.corp.example/', secure],
    ['https://a.lab.example/', undefined],
    ['https://10.2.3.4/', undefined],
    ['https://11.2.3.4/', secure],
    ['https://[fd00::1]/', undefined],
    ['https://[fe00::1]/', secure],
    ['https://only.example:8443/', undefined],
    ['https://only.example/', secure],
    ['http://192.168.1.7:3000/', undefined],
  ])('%s', (url, expected) => {
    expect(chooseProxy(new URL(url), { https: secure, http: plain, direct })).toBe(expected);
  });
  test('and * sends everybody directly', () => {
    expect(
      chooseProxy(new URL('https://github.com'), { https: secure, direct: ['*'] }),
    ).toBeUndefined();
  });
  test('whose address must be one', () => {
    const read = new SettingsReader({
      HTTPS_PROXY: 'socks5://proxy:1080',
      HTTP_PROXY: 'proxy:3128',
      NO_PROXY: 'a, b',
    });
    expect(readProxies(read)).toMatchObject({ http: 'http://proxy:3128', direct: ['a', 'b'] });
    expect(() => read.finish()).toThrow(/HTTPS_PROXY must be the address of a proxy/);
  });
});

describe('in a network whose proxy alone knows the names outside', () => {
  const when = { now: new Date(), random: randomBytes };
  let [secure, plain]: [Server, ReturnType<typeof createPlain>] = [] as never;
  let proxy: CompanyProxy;
  let proxies: Proxies;
  const answer = JSON.stringify({ issuer: 'it', keys: [] });
  beforeAll(async () => {
    const { certificate: cert, key } = createCertificate(
      createAuthority('company', when),
      ['git.company.test'],
      when,
    );
    secure = createServer({ cert, key }, (_request, response) => response.end(answer));
    plain = createPlain((_request, response) => response.end(answer));
    for (const server of [secure, plain]) await once(server.listen(0, '127.0.0.1'), 'listening');
    const portOf = (server: typeof plain | Server): number =>
      (server.address() as AddressInfo).port;
    proxy = await startCompanyProxy({
      'git.company.test:443': portOf(secure),
      'git.company.test:80': portOf(plain),
    });
    proxies = { https: proxy.url, http: proxy.url, direct: [] };
  });
  afterAll(async () => {
    for (const server of [secure, plain]) server.close();
    await proxy.stop();
  });
  const place = (host: string) => ({
    host,
    places: buildGitPlaces({ gitHosts: [], gitIntegrations: [] }, new Lookups(proxies)),
  });
  const { signal } = new AbortController();

  test('git hosts, issuers and webhooks are asked through it', async () => {
    const url = 'http://git.company.test/a';
    expect(
      (await fetchFromHost(place('http://git.company.test'), { url, signal })).bytes.toString(),
    ).toBe(answer);
    const places = { privateHosts: [], addressesOf: () => Promise.reject(new Error('ENOTFOUND')) };
    expect(await fetchIssuerDocument(url, { places, proxies })).toMatchObject({ issuer: 'it' });
    expect(await fetchIssuerDocument(url, { proxies })).toMatchObject({ issuer: 'it' });
    const way = { addresses: [], through: proxy.url };
    const bounds = { connect: 2000, whole: 2000, signal };
    expect(
      await sendPost({ url: new URL(url), way, headers: {}, body: '{}' }, bounds),
    ).toMatchObject({ sent: true });
    expect(proxy.asked.filter((line) => line.endsWith('git.company.test 200'))).toHaveLength(4);
  });

  test('an authority that is not trusted, and a name that it refuses, are told with what to do', async () => {
    const trust = fetchFromHost(place('https://git.company.test'), {
      url: 'https://git.company.test/a',
      signal,
    });
    await expect(trust).rejects.toThrow(
      /certificate of an authority that is not trusted here \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\).*settings.caConfigMap/,
    );
    const other = fetchFromHost(place('https://other.company.test'), {
      url: 'https://other.company.test/a',
      signal,
    });
    await expect(other).rejects.toThrow(
      /The git host https:\/\/other.company.test is blocked by the proxy/,
    );
    await expect(fetchIssuerDocument('https://git.company.test/keys', { proxies })).rejects.toThrow(
      /settings.caConfigMap/,
    );
  });

  test.each([
    'http://127.0.0.1/a',
    'http://10.0.0.1/a',
    'https://169.254.169.254/a',
    'http://[::1]/a',
    'http://localhost/a',
  ])('%s stays refused', async (url) => {
    const before = proxy.asked.length;
    await expect(fetchFromHost(place(url), { url, signal })).rejects.toThrow(/leads to a/);
    expect(proxy.asked).toHaveLength(before);
  });
});
