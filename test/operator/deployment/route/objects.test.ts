import { expect, test } from 'vitest';
import { readOperatorConfig } from '../../../../src/config/platform/operator.ts';
import type { KubeObject } from '../../../../src/kube/kube.ts';
import type { DeploymentSpec } from '../../../../src/schema/platform/resources/custom-resources.ts';
import { buildRouteObjects } from '../../../../src/operator/deployment/route/objects.ts';
import { planRoute } from '../../../../src/operator/deployment/route/plan.ts';
import { deployment } from '../../../kit/objects.ts';

/* The one object of a route, of either kind. */

const host = '{name}.{namespace}.agents.example.com';
const HTTP = {
  kind: 'HTTPRoute',
  parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
  host,
};

function objectsFor(
  installed: object,
  { route, mountPrefix = '', isKindMissing = false, features }: Given = {},
) {
  const of = deployment({
    spec: route ? { route } : {},
    template: { resourceSpec: { labels: { team: 'mine', own: 'a' } } },
  });
  const { settings } = readOperatorConfig({ GX_ROUTE: JSON.stringify(installed) });
  const plan = planRoute(of, {
    settings,
    listener: undefined,
    holderOf: () => undefined,
    isKindMissing,
    parentFeatures: features && new Set(features),
  });
  return buildRouteObjects(of, plan, mountPrefix);
}
type Given = {
  route?: DeploymentSpec['route'];
  mountPrefix?: string;
  isKindMissing?: boolean;
  features?: string[];
};

test('an HTTPRoute leads its host to the Service', () => {
  const [route, ...others] = objectsFor(HTTP);
  expect(others).toEqual([]);
  expect(route).toMatchObject({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: {
      name: 'chat-route',
      namespace: 'team',
      ownerReferences: [{ kind: 'Deployment', name: 'chat', controller: true }],
    },
  });
  expect(route?.spec).toEqual({
    parentRefs: HTTP.parentRefs,
    hostnames: ['chat.team.agents.example.com'],
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: '/' } }],
        timeouts: { request: '0s' },
        backendRefs: [{ name: 'chat-agent', port: 80 }],
      },
    ],
  });
});

function filtersOf(given: Given): object[] | undefined {
  const [route] = objectsFor(HTTP, given);
  const { rules } = (route as KubeObject).spec as { rules: { filters?: object[] }[] };
  return rules[0]?.filters;
}

test('an HTTPRoute takes its path from requests, and tells the server of it', () => {
  expect(filtersOf({ route: { path: '/team' } })).toEqual([
    {
      type: 'RequestHeaderModifier',
      requestHeaderModifier: { set: [{ name: 'X-Forwarded-Prefix', value: '/team' }] },
    },
    {
      type: 'URLRewrite',
      urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' } },
    },
  ]);
  expect(filtersOf({ route: { path: '/api' }, mountPrefix: '/api' })).toBeUndefined();
});

const REQUEST = 'HTTPRouteRequestTimeout';
const BACKEND = 'HTTPRouteBackendTimeout';

test.each([
  [
    'asks for no limit, if nobody knows what its Gateway can do',
    'auto',
    undefined,
    { request: '0s' },
  ],
  [
    'asks for no limit of both kinds, if its Gateway has both',
    'auto',
    [BACKEND, 'HTTPRoute', REQUEST],
    { request: '0s', backendRequest: '0s' },
  ],
  ['asks for no limit of the kind that its Gateway has', 'auto', [REQUEST], { request: '0s' }],
  ['asks for nothing that its Gateway does not have', 'auto', ['HTTPRoute'], undefined],
  [
    'asks for no limit always, if the installation says so',
    'always',
    ['HTTPRoute'],
    { request: '0s' },
  ],
  ['never asks, if the installation says so', 'never', [REQUEST], undefined],
])('an HTTPRoute %s', (_, timeouts, features, asked) => {
  const [route] = objectsFor({ ...HTTP, timeouts }, features ? { features } : {});
  const { rules } = route!.spec as { rules: { timeouts?: object }[] };
  expect(rules[0]?.timeouts).toEqual(asked);
});

test('an annotation may name the path of the route', () => {
  const annotations = { 'projectcontour.io/websocket-routes': '{path}', note: 'a' };
  const [ingress] = objectsFor(
    { kind: 'Ingress', host, annotations },
    { route: { path: '/api' }, mountPrefix: '/api' },
  );
  expect(ingress?.metadata.annotations).toMatchObject({
    'projectcontour.io/websocket-routes': '/api',
    note: 'a',
  });
});

test('an Ingress leads its host to the Service', () => {
  const [ingress] = objectsFor(
    { kind: 'Ingress', host, className: 'contour' },
    { route: { path: '/api' }, mountPrefix: '/api' },
  );
  expect(ingress).toMatchObject({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'chat-route' },
  });
  const backend = { service: { name: 'chat-agent', port: { number: 80 } } };
  expect(ingress?.spec).toEqual({
    ingressClassName: 'contour',
    rules: [
      {
        host: 'chat.team.agents.example.com',
        http: { paths: [{ path: '/api', pathType: 'Prefix', backend }] },
      },
    ],
  });
});

test.each([
  ['the Secret that is named', { enabled: true, secretName: 'wildcard' }, 'wildcard', {}],
  [
    'a Secret of its own, which an issuer makes',
    { enabled: true, annotations: { 'cert-manager.io/issuer': 'a' } },
    'chat-route-tls',
    { 'cert-manager.io/issuer': 'a' },
  ],
])('an Ingress has TLS with %s', (_, tls, secretName, annotations) => {
  const [ingress] = objectsFor({ kind: 'Ingress', host, tls });
  expect(ingress?.spec).toMatchObject({
    tls: [{ hosts: ['chat.team.agents.example.com'], secretName }],
  });
  expect(ingress?.metadata.annotations).toMatchObject(annotations);
});

test('the labels of the installation go before those of the deployment, and behind those by which the operator finds it', () => {
  const labels = { team: 'theirs', 'gx.dev/deployment': 'another', dns: 'public' };
  const [route] = objectsFor({ ...HTTP, labels, annotations: { note: 'a' } });
  expect(route?.metadata.labels).toMatchObject({
    team: 'theirs',
    own: 'a',
    dns: 'public',
    'gx.dev/deployment': 'chat',
  });
  expect(route?.metadata.annotations).toMatchObject({ note: 'a', 'gx.dev/deployment': 'chat' });
});

test.each([
  ['it wants none', { route: { enabled: false } }],
  ['it may have no host', { route: { hosts: ['bank.example'] } }],
  ['the cluster has no such kind', { isKindMissing: true }],
])('there is no object if %s', (_, given) => {
  expect(objectsFor(HTTP, given)).toEqual([]);
});
