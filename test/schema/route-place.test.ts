import { expect, test } from 'vitest';
import {
  expandRoutePattern,
  findOverlap,
  HOST_NAME,
  checkRouteHost,
  isGranted,
  checkRoutePatterns,
  parseRoutePlace,
  ROUTE_PATH,
  isUniquePattern,
} from '../../src/schema/platform/spec/route-place.ts';

const label = 'a'.repeat(64);

test.each([
  ['chat.example.com', undefined],
  ['localhost', undefined],
  [`${label}.example.com`, `${label} of ${label}.example.com is longer than 63 characters`],
  [`${'a.'.repeat(130)}com`, `${'a.'.repeat(130)}com is longer than 253 characters`],
  ['10.0.0.1', '10.0.0.1 is an address'],
  ['*.example.com', '*.example.com is not a host name'],
  ['Chat.example.com', 'Chat.example.com is not a host name'],
  ['chat.example.com:8080', 'chat.example.com:8080 is not a host name'],
  ['chat..example.com', 'chat..example.com is not a host name'],
])('the host %s', (host, fault) => {
  expect(checkRouteHost(host)).toBe(fault);
  // An address has the form of a host. The API server lets it through, and the condition of the route names it.
  const isOne = host.length <= 253 && new RegExp(HOST_NAME).test(host);
  expect(isOne).toBe(fault === undefined || fault.endsWith('an address'));
});

test.each([
  ['/', true],
  ['/team/chat', true],
  ['/v1.2/a_b~c', true],
  ['', false],
  ['/team/', false],
  ['//', false],
  ['/..', false],
  ['/a b', false],
  ['/a?b', false],
])('the path "%s" is one: %s', (path, isOne) => {
  expect(new RegExp(ROUTE_PATH).test(path)).toBe(isOne);
});

const host = '{name}.{namespace}.agents.example.com';

test.each([
  [{ host, path: '/' }, [], []],
  [{ host: 'agents.example.com', path: '/{namespace}/{name}' }, [], []],
  [{ host: '{name}.example.com', path: '/' }, ['team'], []],
  [
    { host: '{name}.example.com', path: '/' },
    [],
    [/two deployments the place {name}.example.com\/: .* need {name} and {namespace}/],
  ],
  [{ host: '{namespace}.example.com', path: '/' }, ['team'], [/two deployments .* need {name}$/]],
  [{ host: '', path: '/' }, [], [/needs a host/]],
  [{ host: `{name}.{namespace}-${label}.com`, path: '/' }, [], [/longer than 63/]],
  [{ host: '{name}.{namespace}-{tenant}.com', path: '/' }, [], [/is not a host name/]],
  [{ host, path: 'agents' }, [], [/has the path agents/]],
  [{ host, path: '/{other}' }, [], [/has the path/]],
])('the patterns %j, in the namespaces %j', (patterns, namespaces, faults) => {
  const found = checkRoutePatterns(patterns, namespaces);
  expect(found).toHaveLength(faults.length);
  for (const [index, fault] of faults.entries()) expect(found[index]).toMatch(fault);
});

test.each([
  ['{name}-{namespace}.a.com/', [], 'team and prod-team'],
  ['{name}-{namespace}.a.com/', ['team', 'other', 'prod-team'], 'team and prod-team'],
  ['{name}-{namespace}.a.com/', ['team', 'other', 'team-prod'], undefined],
  ['{name}-{namespace}.a.com/', ['team'], undefined],
  ['{namespace}-{name}.a.com/', ['team', 'team-prod'], 'team and team-prod'],
  ['{namespace}-{name}.a.com/', ['team', 'prod-team'], undefined],
  ['{name}{namespace}.a.com/', ['team', 'prodteam'], 'team and prodteam'],
  ['{name}-x-{namespace}.a.com/', ['team', 'x-team'], 'team and x-team'],
  ['gx-{name}-{namespace}-x.a.com/', ['team', 'prod-team'], 'team and prod-team'],
  ['{name}.{namespace}.a.com/', [], undefined],
  ['{namespace}.{name}.a.com/', [], undefined],
  ['a.com/{name}-{namespace}', [], 'team and prod-team'],
  ['a.com/{name}_{namespace}', [], undefined],
  ['a.com/{namespace}/{name}', [], undefined],
  // One of the two alone somewhere tells both.
  ['{name}-{namespace}.a.com/{name}', [], undefined],
])(
  '%s in the namespaces %j gives the same place to deployments of %s',
  (pattern, namespaces, pair) => {
    const at = pattern.indexOf('/');
    const found = checkRoutePatterns(
      { host: pattern.slice(0, at), path: pattern.slice(at) },
      namespaces,
    );
    const [, met] = /can give deployments of (.*) the same place/.exec(found.join()) ?? [];
    expect(met).toBe(pair);
  },
);

test('no pattern that is taken gives two of many names the same place', () => {
  const words = ['a', 'b', 'a-b', 'b-a', 'a-a', 'a-b-a', 'ab'];
  const namespaces = ['a', 'b', 'a-b', 'b-a', 'ba'];
  const separators = ['-', '.', '', '-a-', '-b'];
  for (const separator of separators)
    for (const pattern of [
      `{name}${separator}{namespace}.x.com`,
      `{namespace}${separator}{name}.x.com`,
    ])
      for (let chosen = 1; chosen < 2 ** namespaces.length; chosen += 1) {
        const served = namespaces.filter((_, index) => (chosen & (1 << index)) !== 0);
        if (!isUniquePattern(pattern, served)) continue;
        const hosts = served.flatMap((namespace) =>
          words.map((name) => expandRoutePattern(pattern, { name, namespace })),
        );
        expect(new Set(hosts).size, `${pattern} in ${served.join(', ')}`).toBe(hosts.length);
      }
});

test.each([
  ['console.example.com', ['console.example.com'], 'console.example.com'],
  ['*.example.com', ['a.org', 'console.example.com'], 'console.example.com'],
  ['a.example.com', ['*.example.com'], '*.example.com'],
  ['*.example.com', ['*.example.com'], '*.example.com'],
  ['a.example.com', ['example.com', '*.b.example.com'], undefined],
])('of %s and the hosts %j they meet in %s', (one, others, met) => {
  expect(findOverlap(one, others)).toBe(met);
});

test.each([
  ['shop.example.com', ['shop.example.com'], true],
  ['shop.example.com', ['*.example.com'], true],
  ['a.shop.example.com', ['*.example.com'], false],
  ['example.com', ['*.example.com'], false],
  ['shop.example.org', ['*.example.com', 'other.example.org'], false],
  ['shop.example.com', [], false],
])('%s is among %j: %s', (name, granted, isAmong) => {
  expect(isGranted(name, granted)).toBe(isAmong);
});

test.each([
  ['https://shop.example.com', /^{"host":"shop.example.com","path":"\/"}$/],
  ['https://Shop.example.com/', /^{"host":"shop.example.com","path":"\/"}$/],
  ['http://shop.example.com/v1/', /^{"host":"shop.example.com","path":"\/v1"}$/],
  ['https://me:pass@shop.example.com', /has a user/],
  ['https://shop.example.com:443', /has a port/],
  ['https://shop.example.com:8443/v1', /has a port/],
  ['https://shop.example.com/?a=b', /has a query/],
  ['https://shop.example.com/#top', /has a fragment/],
  ['https://*.example.com', /is not a host name/],
  ['https://10.0.0.1/', /is an address/],
  ['https://[::1]/', /has a port|is not a host name/],
  ['https://shop.example.com/a%20b', /has a path that no route can have/],
  ['https://', /is no address/],
])('the place of %s', (address, place) => {
  expect(JSON.stringify(parseRoutePlace(address))).toMatch(place);
});
