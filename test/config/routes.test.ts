import { expect, test } from 'vitest';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';

const routesOf = (route: unknown, env: Record<string, string> = {}) => {
  const {
    route: settings,
    formerRoutes,
    routeProxies,
  } = readOperatorConfig({ ...env, GX_ROUTE: JSON.stringify(route) }).settings;
  return { route: settings, formerRoutes, routeProxies };
};
const host = '{name}.{namespace}.agents.example.com';
const parentRefs = [{ name: 'public', namespace: 'gateways' }];

test('without settings there are no routes', () => {
  expect(readOperatorConfig({}).settings).toMatchObject({ formerRoutes: [], routeProxies: [] });
  expect(readOperatorConfig({}).settings.route).toBeUndefined();
  expect(routesOf({ kind: 'None', host, parentRefs }).route).toBeUndefined();
});

test('every setting of an HTTPRoute is read', () => {
  const words = { labels: { team: 'a' }, annotations: { 'example.com/dns': 'public' } };
  const reservedHosts = ['console.example.com', '*.own.example.com'];
  const proxies = [{ namespaceSelector: { matchLabels: { name: 'gateways' } } }];
  const given = {
    kind: 'HTTPRoute',
    parentRefs,
    host,
    path: '/',
    scheme: 'http',
    timeouts: 'never',
    ...words,
    reservedHosts,
    proxies,
    former: ['Ingress'],
  };
  expect(routesOf(given)).toEqual({
    route: {
      kind: 'HTTPRoute',
      isHostShared: false,
      parentRefs,
      host,
      path: '/',
      scheme: 'http',
      timeouts: 'never',
      ...words,
      reservedHosts,
    },
    formerRoutes: ['Ingress'],
    routeProxies: proxies,
  });
});

test('an Ingress has TLS by a Secret or by an issuer', () => {
  const ingress = { kind: 'Ingress', host, className: 'contour' };
  expect(
    routesOf({ ...ingress, tls: { enabled: true, secretName: 'wildcard' } }).route,
  ).toMatchObject({
    className: 'contour',
    tls: { secretName: 'wildcard', annotations: {} },
  });
  const annotations = { 'cert-manager.io/cluster-issuer': 'public' };
  expect(
    routesOf({ ...ingress, tls: { enabled: true, secretName: '', annotations } }).route?.tls,
  ).toEqual({ annotations });
  expect(
    routesOf({ ...ingress, tls: { enabled: false, secretName: '' } }).route?.tls,
  ).toBeUndefined();
});

test('a host that many deployments have is known as such', () => {
  const shared = {
    kind: 'HTTPRoute',
    parentRefs,
    host: 'agents.example.com',
    path: '/{namespace}/{name}',
  };
  expect(routesOf(shared).route?.isHostShared).toBe(true);
  // The host alone may be that of two deployments, so each keeps to its path there.
  const joint = {
    kind: 'HTTPRoute',
    parentRefs,
    host: '{name}-{namespace}.example.com',
    path: '/{name}',
  };
  expect(routesOf(joint).route?.isHostShared).toBe(true);
  expect(routesOf(joint, { GX_WATCH_NAMESPACES: 'team,shop' }).route?.isHostShared).toBe(false);
  const single = { kind: 'HTTPRoute', parentRefs, host: '{name}.example.com' };
  expect(routesOf(single, { GX_WATCH_NAMESPACES: 'team' }).route?.isHostShared).toBe(false);
});

test.each([
  [[], /GX_ROUTE must be an object/],
  [{ kind: 'Route' }, /GX_ROUTE kind is wrong/],
  [{ kind: 'HTTPRoute', host, parentRefs, timeouts: '15s' }, /GX_ROUTE timeouts is wrong/],
  [{ kind: 'None', parent: [] }, /GX_ROUTE parent is not a field of it/],
  [{ kind: 'None', parentRef: [] }, /GX_ROUTE parentRef is .*; did you mean "parentRefs"\?/],
  [{ kind: 'HTTPRoute', host }, /GX_ROUTE of kind HTTPRoute needs parentRefs/],
  [{ kind: 'HTTPRoute', host, parentRefs: [{ namespace: 'a' }] }, /GX_ROUTE parentRefs is wrong/],
  [
    { kind: 'HTTPRoute', host, parentRefs, className: 'contour' },
    /className, which is that of an Ingress: a deployment has one route/,
  ],
  [
    { kind: 'Ingress', host, parentRefs },
    /parentRefs, which are those of an HTTPRoute: a deployment has one route/,
  ],
  [
    { kind: 'HTTPRoute', host, parentRefs, tls: { enabled: true, secretName: 'a' } },
    /tls, which its Gateway decides about/,
  ],
  [{ kind: 'Ingress', host, tls: { enabled: true } }, /tls without a secretName, or annotations/],
  [{ kind: 'Ingress', host: '{name}.example.com' }, /gives two deployments the place/],
  [
    { kind: 'Ingress', host: `{name}{namespace}${'a'.repeat(63)}.com` },
    /longer than 63 characters/,
  ],
  [
    { kind: 'Ingress', host: `{name}{namespace}.${'a.'.repeat(130)}com` },
    /longer than 253 characters/,
  ],
  [
    { kind: 'Ingress', host: '{name}-{namespace}.a.com' },
    /GX_ROUTE can give deployments of team and prod-team the same place/,
  ],
  [{ kind: 'Ingress', host, reservedHosts: ['https://a.com'] }, /GX_ROUTE reservedHosts is wrong/],
  [
    { kind: 'Ingress', host, former: ['Ingress'] },
    /has the kind Ingress also among the former ones/,
  ],
  [{ kind: 'Ingress', host, labels: { team: 'not a value' } }, /GX_ROUTE labels is wrong/],
  [{ kind: 'Ingress', host, proxies: [{ pods: {} }] }, /GX_ROUTE proxies is wrong/],
])('%j is refused', (route, problem) => {
  expect(() => routesOf(route)).toThrow(problem);
});
