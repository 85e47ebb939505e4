import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, test } from 'vitest';
import {
  resolveClient,
  buildForwardedHeaders,
  buildTrusts,
} from '../../src/http/callers/client.ts';

/* Who has sent a request that proxies passed on. Anybody can write X-Forwarded-*; only trusted proxies are believed. */

const PROXY = '10.0.0.5';
const trusts = buildTrusts(['10.0.0.0/8', '192.0.2.9', 'fd00::/8']);
const through = (headers: IncomingHttpHeaders, address: string | undefined = PROXY) =>
  resolveClient({ headers }, address, trusts);
const sourceBy = (list: string, address?: string): string =>
  through({ 'x-forwarded-for': list }, address).source;

describe('the address of a client', () => {
  test.each([
    ['without a proxy', '', '203.0.113.7', '203.0.113.7'],
    ['behind one proxy', '203.0.113.7', PROXY, '203.0.113.7'],
    ['behind several', '203.0.113.7, 10.9.9.9,192.0.2.9', PROXY, '203.0.113.7'],
    ['that wrote an address itself', '198.51.100.1, 203.0.113.7', PROXY, '203.0.113.7'],
    [
      'that wrote the address of a proxy itself',
      '10.1.1.1, 203.0.113.7, 10.2.2.2',
      PROXY,
      '203.0.113.7',
    ],
    ['that is a proxy itself', '10.1.1.1, 10.2.2.2', PROXY, '10.1.1.1'],
    ['behind a proxy that names nobody', '', PROXY, PROXY],
    ['behind a proxy that names nonsense', '203.0.113.7, unknown', PROXY, PROXY],
    [
      'behind a second proxy that names nonsense',
      '203.0.113.7, secret, 10.2.2.2',
      PROXY,
      '10.2.2.2',
    ],
    ['of IPv6', '2001:DB8:0::0007', 'fd00::5', '2001:db8::7'],
    ['of IPv4 in the form of IPv6', '::ffff:203.0.113.7', PROXY, '203.0.113.7'],
    ['of IPv4 in the form of IPv6, in digits of IPv6', '::ffff:cb00:7107', PROXY, '203.0.113.7'],
    [
      'behind a proxy at a server of both families',
      '203.0.113.7',
      '::ffff:10.0.0.5',
      '203.0.113.7',
    ],
    ['with a port', '203.0.113.7:4711', PROXY, '203.0.113.7'],
    ['of IPv6 with a port', '[2001:db8::7]:4711', PROXY, '2001:db8::7'],
    ['of IPv6 in quotes', '"[2001:db8::7]"', PROXY, '2001:db8::7'],
    ['with a name of an interface', 'fe80::1%eth0', PROXY, PROXY],
    ['of a connection that is gone', '203.0.113.7', undefined, 'unknown'],
  ])('%s', (_, list, address, source) => {
    expect(
      address === undefined
        ? resolveClient({ headers: { 'x-forwarded-for': list } }, address, trusts).source
        : sourceBy(list, address),
    ).toBe(source);
  });

  test('is that of the connection if nobody, or another one, is trusted, whatever the headers say', () => {
    const forged = {
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil.example',
    };
    for (const [address, believed] of [
      [PROXY, buildTrusts([])],
      ['198.51.100.1', trusts],
      ['fe80::1%eth0', trusts],
    ] as const)
      expect(resolveClient({ headers: forged }, address, believed)).toEqual({
        source: address,
        forwarded: {},
      });
  });
});

describe('the place that a client has asked', () => {
  test('is what the nearest proxy says, behind what the client may have written', () => {
    const said = {
      'x-forwarded-proto': 'http, HTTPS',
      'x-forwarded-host': 'evil.example, agents.example.com:8443',
    };
    expect(through({ ...said, 'x-forwarded-prefix': '/team/chat/' }).forwarded).toEqual({
      protocol: 'https',
      host: 'agents.example.com:8443',
      prefix: '/team/chat',
    });
    expect(through({ 'x-forwarded-host': '[2001:db8::7]:80' }).forwarded).toEqual({
      host: '[2001:db8::7]:80',
    });
  });

  test.each([
    ['x-forwarded-proto', 'javascript'],
    ['x-forwarded-host', 'a b'],
    ['x-forwarded-host', 'user@evil.example'],
    ['x-forwarded-host', 'evil.example/path'],
    ['x-forwarded-host', ''],
    ['x-forwarded-prefix', 'team'],
    ['x-forwarded-prefix', '//evil.example'],
    ['x-forwarded-prefix', '/"><script>'],
    ['x-forwarded-prefix', '/'],
  ])('is unknown from %s: %s', (name, value) => {
    expect(through({ [name]: value }).forwarded).toEqual({});
  });
});

describe('a proxy passes on', () => {
  test('the client as it knows it, and the host that was asked', () => {
    const headers = {
      host: 'chat.internal',
      'x-forwarded-for': '198.51.100.1, 203.0.113.7',
      'x-forwarded-proto': 'https',
    };
    expect(buildForwardedHeaders(through(headers), headers)).toEqual({
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'chat.internal',
    });
  });

  test('nothing that a stranger wrote', () => {
    const headers = {
      host: 'chat.internal',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-prefix': '/evil',
      'x-forwarded-proto': 'https',
    };
    expect(buildForwardedHeaders(through(headers, '203.0.113.7'), headers)).toEqual({
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'chat.internal',
    });
  });
});
