import { expect, test } from 'vitest';
import { readOperatorConfig } from '../../../../src/config/platform/operator.ts';
import { resolveRoutePlace } from '../../../../src/control-plane/deployments/route-rules.ts';

const routeOf = (settings: object) =>
  readOperatorConfig({ GX_ROUTE: JSON.stringify(settings) }).settings.route;
const own = routeOf({ kind: 'Ingress', host: '{name}.{namespace}.agents.example' });
const shared = routeOf({ kind: 'Ingress', host: 'agents.example', path: '/{namespace}/{name}' });
const listener = { name: 'default', hosts: ['*.shop.example'] };
const chat = { name: 'chat', namespace: 'team', listener };

test('without routes no custom URL is checked', () => {
  expect(
    resolveRoutePlace('https://bank.example:1/?a', { ...chat, route: undefined }),
  ).toBeUndefined();
});

test.each([
  ['a granted host', 'https://a.shop.example/v1', own, { host: 'a.shop.example', path: '/v1' }],
  [
    'its own host',
    'https://chat.team.agents.example',
    own,
    { host: 'chat.team.agents.example', path: '/' },
  ],
  [
    'its own path of the host of all',
    'https://agents.example/team/chat/',
    shared,
    { host: 'agents.example', path: '/team/chat' },
  ],
])('%s may be asked for', (_, url, route, place) => {
  expect(resolveRoutePlace(url, { ...chat, route })).toEqual(place);
});

test.each([
  [
    'https://bank.example',
    own,
    'source_config.custom_url: bank.example is not among the hosts of listener default',
  ],
  [
    'https://mail.team.agents.example',
    own,
    'source_config.custom_url: mail.team.agents.example is not among the hosts of listener default',
  ],
  [
    'https://agents.example/team/mail',
    shared,
    'source_config.custom_url: the path of agents.example must be /team/chat or below it',
  ],
  [
    'https://a.shop.example:8443',
    own,
    'source_config.custom_url: https://a.shop.example:8443 has a port',
  ],
])('%s may not', (url, route, broken) => {
  expect(resolveRoutePlace(url, { ...chat, route })).toEqual({ broken });
});

test.each([
  ['https://console.example/console/session', 'console.example'],
  ['https://a.shop.example', 'a.shop.example'],
  ['https://console.team.agents.example', 'console.team.agents.example'],
])(
  '%s may not, though it is granted or by the pattern: the installation reserves the host',
  (url, host) => {
    const route = routeOf({
      kind: 'Ingress',
      host: '{name}.{namespace}.agents.example',
      reservedHosts: ['console.example', 'a.shop.example', 'console.team.agents.example'],
    });
    const granted = {
      ...chat,
      name: 'console',
      listener: { name: 'default', hosts: ['*.shop.example', 'console.example'] },
    };
    expect(resolveRoutePlace(url, { ...granted, route })).toEqual({
      broken: `source_config.custom_url: ${host} is reserved by the installation`,
    });
  },
);
