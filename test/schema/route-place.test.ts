import { expect, test } from 'vitest';
import { HOST_NAME, hostFault, isGranted, patternFaults, placeOfUrl, ROUTE_PATH } from '../../src/schema/platform/route-place.ts';

const label = 'a'.repeat(64);

test.each([
  ['chat.example.com', undefined],
  ['localhost', undefined],
  [`${label}.example.com`, `${label} of ${label}.example.com is longer than 63 characters`],
  [`${'a.'.repeat(130)}com`, `${'a.'.repeat(130)}com is longer than 253 characters`],
  ['10.0.0.1', '10.0.0.1 is an address'],
  ['*.example.com', '*.example.com is no host name'],
  ['Chat.example.com', 'Chat.example.com is no host name'],
  ['chat.example.com:8080', 'chat.example.com:8080 is no host name'],
  ['chat..example.com', 'chat..example.com is no host name'],
])('the host %s', (host, fault) => {
  expect(hostFault(host)).toBe(fault);
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

const host = '{name}-{namespace}.agents.example.com';

test.each([
  [{ host, path: '/' }, false, []],
  [{ host: 'agents.example.com', path: '/{namespace}/{name}' }, false, []],
  [{ host: '{name}.example.com', path: '/' }, true, []],
  [{ host: '{name}.example.com', path: '/' }, false, [/two deployments the place {name}.example.com\/: .* need {name} and {namespace}/]],
  [{ host: '{namespace}.example.com', path: '/' }, true, [/two deployments .* need {name}$/]],
  [{ host: '', path: '/' }, false, [/needs a host/]],
  [{ host: `{name}-{namespace}-${label}.com`, path: '/' }, false, [/longer than 63/]],
  [{ host: '{name}-{namespace}-{tenant}.com', path: '/' }, false, [/is no host name/]],
  [{ host, path: 'agents' }, false, [/has the path agents/]],
  [{ host, path: '/{other}' }, false, [/has the path/]],
])('the patterns %j, in one namespace: %s', (patterns, hasOneNamespace, faults) => {
  const found = patternFaults(patterns, hasOneNamespace);
  expect(found).toHaveLength(faults.length);
  for (const [index, fault] of faults.entries()) expect(found[index]).toMatch(fault);
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
  ['https://*.example.com', /is no host name/],
  ['https://10.0.0.1/', /is an address/],
  ['https://[::1]/', /has a port|is no host name/],
  ['https://shop.example.com/a%20b', /has a path that no route can have/],
  ['https://', /is no address/],
])('the place of %s', (address, place) => {
  expect(JSON.stringify(placeOfUrl(address))).toMatch(place);
});
