import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import { idOf, renderer, type KubeYaml, type Renderer } from './render.ts';

const BUILD = 1_200_000;

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, BUILD);

const host = '{name}.{namespace}.agents.example.com';
const peer = (namespace: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
});
const HTTP = {
  kind: 'HTTPRoute',
  parentRefs: [{ name: 'public', namespace: 'gateways' }],
  host,
  proxies: [peer('gateways')],
};
const INGRESS = {
  kind: 'Ingress',
  className: 'contour',
  host,
  tls: { enabled: true, annotations: { 'cert-manager.io/cluster-issuer': 'public' } },
  proxies: [peer('projectcontour')],
};
const chart = (route: object, more: object = {}): Promise<KubeYaml[]> =>
  render.chart({ settings: { route }, ...more });

type Env = { name: string; value?: string }[];
const operatorIn = (objects: KubeYaml[]): Env =>
  objects.find((object) => idOf(object) === 'Deployment/gx-system/gx-operator')?.spec?.template
    ?.spec.containers[0]?.env ?? [];
const settingsIn = (objects: KubeYaml[]) => {
  const env = Object.fromEntries(
    operatorIn(objects).flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  );
  return readOperatorConfig(env).settings;
};
/** Returns the rights to a kind, each with the object that grants it. */
const rightsTo = (resource: string, objects: KubeYaml[]): string[] =>
  objects.flatMap((object) =>
    (object.rules ?? []).flatMap(({ resources, verbs }) =>
      resources.includes(resource) ? [`${idOf(object)}: ${verbs.join(' ')}`] : [],
    ),
  );
const ALL = 'list watch create patch delete';

test('without routes the operator has no right to any, and no setting', async () => {
  const objects = await render.chart();
  expect([...rightsTo('httproutes', objects), ...rightsTo('ingresses', objects)]).toEqual([]);
  expect(operatorIn(objects).map(({ name }) => name)).not.toContain('GX_ROUTE');
});

test('the operator has the rights to the kind that is set, where agents run, and to former ones', async () => {
  const objects = await chart(HTTP);
  expect(rightsTo('httproutes', objects)).toEqual([`Role/gx-agents/gx-operator-watched: ${ALL}`]);
  expect(rightsTo('ingresses', objects)).toEqual([]);
  const all = await chart({ ...INGRESS, former: ['HTTPRoute'] }, { watchAllNamespaces: true });
  const everywhere = [
    'ClusterRole/gx-operator.gx-system: list watch delete',
    `ClusterRole/gx-operator-secrets: ${ALL}`,
  ];
  expect(rightsTo('ingresses', all)).toEqual(everywhere);
  expect(rightsTo('httproutes', all)).toEqual(everywhere);
  expect(rightsTo('ingresses', await chart({ former: ['Ingress'] }))).toEqual([
    `Role/gx-agents/gx-operator-watched: ${ALL}`,
  ]);
});

test('the operator understands every setting of routes', async () => {
  const words = { labels: { team: 'a' }, annotations: { 'example.com/dns': 'public' } };
  const http = settingsIn(
    await chart({ ...HTTP, ...words, path: '/{name}', scheme: 'http', timeouts: 'always' }),
  );
  expect(http).toMatchObject({
    route: {
      ...words,
      kind: 'HTTPRoute',
      path: '/{name}',
      scheme: 'http',
      timeouts: 'always',
      parentRefs: HTTP.parentRefs,
    },
  });
  const { kind, className, tls } = INGRESS;
  const ingress = settingsIn(await chart({ ...INGRESS, tls: { ...tls, secretName: 'wildcard' } }));
  expect(ingress).toMatchObject({
    route: { kind, className, tls: { secretName: 'wildcard' } },
    routeProxies: INGRESS.proxies,
  });
});

test('the features of Gateways may be read where they count, by an operator of the whole cluster alone', async () => {
  const all = { watchAllNamespaces: true };
  const rights = async (route: object, more: object): Promise<string[]> => {
    const objects = await chart(route, more);
    return ['gateways', 'gatewayclasses'].flatMap((resource) => rightsTo(resource, objects));
  };
  expect(await rights(HTTP, all)).toEqual([
    'ClusterRole/gx-operator.gx-system: get',
    'ClusterRole/gx-operator.gx-system: get',
  ]);
  for (const [route, more] of [
    [HTTP, {}],
    [{ ...HTTP, timeouts: 'always' }, all],
    [INGRESS, all],
  ] as const)
    expect(await rights(route, more)).toEqual([]);
});

describe('annotations of an Ingress', () => {
  const ofClass = async (className: string, annotations: object = {}) =>
    settingsIn(await chart({ ...INGRESS, className, annotations })).route?.annotations;

  test.each([
    [
      'nginx',
      {
        'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
        'nginx.ingress.kubernetes.io/proxy-body-size': '0',
      },
    ],
    [
      'contour',
      {
        'projectcontour.io/response-timeout': 'infinity',
        'projectcontour.io/websocket-routes': '{path}',
      },
    ],
    [
      'haproxy',
      { 'haproxy-ingress.github.io/timeout-server': '1h', 'haproxy.org/timeout-server': '1h' },
    ],
    [
      'alb',
      {
        'alb.ingress.kubernetes.io/target-type': 'ip',
        'alb.ingress.kubernetes.io/healthcheck-path': '/ok',
      },
    ],
  ])('of the class %s let streams through', async (className, annotations) => {
    expect(await ofClass(className)).toMatchObject(annotations);
  });

  test.each(['traefik', 'nginx-internal', ''])(
    'of the class "%s" are those of the values',
    async (className) => {
      expect(await ofClass(className, { note: 'a' })).toEqual({ note: 'a' });
    },
  );

  test('of the values go before those of the class', async () => {
    const own = { 'nginx.ingress.kubernetes.io/proxy-body-size': '50m', note: 'a' };
    const kept = { 'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600' };
    expect(await ofClass('nginx', own)).toMatchObject({ ...own, ...kept });
  });
});

const CONSOLE = { kind: 'Ingress', className: 'contour' };

test("the platform's own hosts, and those that its settings name, are reserved", async () => {
  const objects = await chart(
    { ...HTTP, reservedHosts: ['*.shop.example.com'] },
    {
      console: { route: { ...CONSOLE, host: 'console.example.com' } },
      controlPlane: {
        route: { ...CONSOLE, host: 'gx.example.com' },
        oidc: {
          issuer: 'https://login.example.com/realms/a',
          audience: ['gx'],
          tenantId: '00000000-0000-4000-8000-000000000001',
        },
        gitHosts: ['https://git.example.com:8443'],
      },
      builds: {
        registry: 'registry.example.com:5000/agents',
        npmRegistry: 'https://me:x@npm.example.com/',
        pypiIndex: 'http://10.0.0.5/simple',
      },
    },
  );
  const reserved = settingsIn(objects).route?.reservedHosts;
  const named = ['console', 'git', 'gx', 'login', 'npm', 'registry'].map(
    (name) => `${name}.example.com`,
  );
  expect(reserved?.toSorted()).toEqual(['*.shop.example.com', ...named].toSorted());
});

const label = 'a'.repeat(60);

describe('a fault ends the render, with the name of the value', () => {
  test.each([
    [
      'both kinds at once',
      { ...INGRESS, parentRefs: HTTP.parentRefs },
      /settings.route: parentRefs .* one route/,
    ],
    [
      'a class of an HTTPRoute',
      { ...HTTP, className: 'contour' },
      /settings.route: className .* one route/,
    ],
    ['no parent', { kind: 'HTTPRoute', host }, /settings.route.parentRefs/],
    ['no host', { kind: 'Ingress' }, /settings.route.host/],
    [
      'one host for two deployments',
      { ...INGRESS, host: '{namespace}.example.com' },
      /settings.route: {namespace}.example.com\/ gives two/,
    ],
    [
      'a long label',
      { ...INGRESS, host: `{name}.{namespace}-aa${label}.com` },
      /settings.route.host: .* longer than 63/,
    ],
    [
      'a long host',
      { ...INGRESS, host: `{name}.{namespace}.${`${label}.`.repeat(5)}com` },
      /settings.route.host: .* longer than 253/,
    ],
    [
      'a host that is none',
      { ...INGRESS, host: `*.{name}.{namespace}.com` },
      /settings.route.host: .* is no host name/,
    ],
    [
      'TLS without a certificate',
      { ...INGRESS, tls: { enabled: true } },
      /settings.route.tls: needs secretName/,
    ],
    [
      'TLS of an HTTPRoute',
      { ...HTTP, tls: { enabled: true, secretName: 'a' } },
      /settings.route.tls/,
    ],
    [
      'a former kind that is the present one',
      { ...HTTP, former: ['HTTPRoute'] },
      /settings.route.former/,
    ],
    ['a time limit for a choice', { ...HTTP, timeouts: '15s' }, /timeouts/],
    ['a kind that does not exist', { kind: 'Route' }, /settings.route.kind|route\/kind/],
  ])('%s', async (_situation, route, problem) => {
    await expect(chart(route)).rejects.toThrow(problem);
  });

  test.each([
    [
      'by ends',
      '{name}-{namespace}',
      ['a', 'b-a'],
      /settings.route: {name}-{namespace}.example.com\/ can give deployments of a and b-a/,
    ],
    [
      'by beginnings',
      '{namespace}-{name}',
      ['c', 'a', 'a-b'],
      /can give deployments of a and a-b the same place/,
    ],
    [
      'without a separator',
      '{name}{namespace}',
      ['a', 'ba'],
      /can give deployments of a and ba the same place/,
    ],
    ['not by beginnings', '{name}-{namespace}', ['a', 'a-b'], /^none$/],
    ['not with a dot', '{name}.{namespace}', ['a', 'b-a'], /^none$/],
    ['not in one namespace', '{name}-{namespace}', ['a'], /^none$/],
    [
      'in any namespace',
      '{name}-{namespace}',
      'all',
      /can give deployments of team and prod-team .* put a dot between the names/,
    ],
    ['not in any namespace with a dot', '{name}.{namespace}', 'all', /^none$/],
  ])('namespaces that meet %s', async (_situation, pattern, namespaces, problem) => {
    const given = namespaces === 'all' ? { watchAllNamespaces: true } : { agents: { namespaces } };
    const refusal = await chart({ ...INGRESS, host: `${pattern}.example.com` }, given).then(
      () => 'none',
      String,
    );
    expect(refusal).toMatch(problem);
  });

  test.each([
    [
      'of the console',
      '{name}.example.com',
      { console: { route: { ...CONSOLE, host: 'console.example.com' } } },
      'console.example.com',
    ],
    [
      'of the control plane',
      'gx.example.com',
      { controlPlane: { route: { ...CONSOLE, host: 'gx.example.com' } } },
      'gx.example.com',
    ],
    [
      'that is reserved',
      '{name}.example.com',
      { settings: { route: { reservedHosts: ['shop.example.com'] } } },
      'shop.example.com',
    ],
  ])('a pattern that can give a host %s', async (_situation, pattern, given, own) => {
    const route = { ...INGRESS, host: pattern, path: '/{name}' };
    const rendered = render.chart({
      ...given,
      settings: {
        route: { ...route, ...(given as { settings?: { route: object } }).settings?.route },
      },
    });
    await expect(rendered).rejects.toThrow(
      `settings.route.host: ${pattern} can give a deployment the host ${own}`,
    );
  });

  test('several namespaces need their name in the host, and one does not', async () => {
    const single = { ...INGRESS, host: '{name}.example.com' };
    await expect(chart(single)).resolves.toBeDefined();
    await expect(chart(single, { agents: { namespaces: ['a', 'b'] } })).rejects.toThrow(
      /need {name} and {namespace}/,
    );
  });
});

describe('the control plane', () => {
  const own = { host: 'gx.example.com', labels: { team: 'a' }, annotations: { note: 'b' } };
  const parents = [{ name: 'public', namespace: 'gateways' }];
  const renderWith = (route: object, more: object = {}, values: object = {}) =>
    render.chart({ controlPlane: { route: { ...own, ...route }, ...more }, ...values });
  const routeIn = (objects: KubeYaml[]) =>
    objects.find(({ kind }) => kind === 'HTTPRoute' || kind === 'Ingress');

  test('has a route of either kind', async () => {
    const http = routeIn(await renderWith({ kind: 'HTTPRoute', parentRefs: parents }));
    expect(http).toMatchObject({
      metadata: { name: 'gx-control-plane', labels: own.labels, annotations: own.annotations },
    });
    const rules = [
      { backendRefs: [{ name: 'gx-control-plane', port: 80 }], timeouts: { request: '0s' } },
    ];
    expect(http?.spec).toEqual({ parentRefs: parents, hostnames: [own.host], rules });
    const ingress = routeIn(
      await renderWith({ kind: 'Ingress', className: 'contour', tlsSecretName: 'gx-tls' }),
    );
    expect(ingress?.metadata.annotations).toEqual({
      ...own.annotations,
      'projectcontour.io/response-timeout': 'infinity',
      'projectcontour.io/websocket-routes': '/',
    });
    expect(ingress?.spec).toMatchObject({
      ingressClassName: 'contour',
      tls: [{ hosts: [own.host], secretName: 'gx-tls' }],
      rules: [
        {
          host: own.host,
          http: {
            paths: [
              {
                path: '/',
                backend: { service: { name: 'gx-control-plane', port: { number: 80 } } },
              },
            ],
          },
        },
      ],
    });
    expect(routeIn(await render.chart())).toBeUndefined();
  });

  test('leaves time limits to the Gateway where the routes of deployments do', async () => {
    const http = routeIn(
      await renderWith(
        { kind: 'HTTPRoute', parentRefs: parents },
        {},
        { settings: { route: { timeouts: 'never' } } },
      ),
    );
    expect(http?.spec).toMatchObject({
      rules: [{ backendRefs: [{ name: 'gx-control-plane', port: 80 }] }],
    });
    expect(JSON.stringify(http?.spec)).not.toContain('timeouts');
  });

  test.each([
    ['no host', { kind: 'Ingress', host: '' }, {}, /controlPlane.route.host/],
    ['no parent', { kind: 'HTTPRoute' }, {}, /controlPlane.route.parentRefs/],
    [
      'parents of an Ingress',
      { kind: 'Ingress', parentRefs: parents },
      {},
      /controlPlane.route: parentRefs/,
    ],
    [
      'a class of an HTTPRoute',
      { kind: 'HTTPRoute', parentRefs: parents, className: 'a' },
      {},
      /controlPlane.route: className/,
    ],
    [
      'TLS behind an HTTPRoute',
      { kind: 'HTTPRoute', parentRefs: parents },
      { tls: { secretName: 'a' } },
      /reaches the control plane by plain HTTP/,
    ],
  ])('%s ends the render', async (_situation, route, more, problem) => {
    await expect(renderWith(route, more)).rejects.toThrow(problem);
  });
});

/** Returns the object with the variables of its pods in order, in which the two ways of installing differ. */
function ordered(object: KubeYaml): object {
  const env = object.spec?.template?.spec.containers[0]?.env;
  env?.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { kind: object.kind, rules: object.rules, env };
}
const knowsRoutes = (object: KubeYaml): boolean =>
  /^(Deployment|Role)\/.*gx-(operator|control-plane)/.test(idOf(object));

test.each([
  ['httproute', HTTP],
  ['ingress', INGRESS],
])('config/routes/%s has the objects of the chart', async (folder, route) => {
  const [tree, release] = await Promise.all([
    render.kustomize(`config/routes/${folder}`),
    chart(route),
  ]);
  const byId = (objects: KubeYaml[]) =>
    Object.fromEntries(
      objects.filter(knowsRoutes).map((object) => [idOf(object), ordered(object)]),
    );
  expect(byId(tree)).toEqual(byId(release));
});

test('the guide has the values of these tests', () => {
  const guide = readFileSync('docs/how-to/reach.md', 'utf8');
  for (const word of ['parentRefs', 'className', 'host', 'proxies', 'former', 'scheme'])
    expect(guide).toContain(`${word}:`);
});
