import { beforeAll, describe, expect, test } from 'vitest';
import { readConsoleConfig } from '../../src/config/platform/console.ts';
import { idOf, renderer, type KubeYaml, type Renderer } from './render.ts';

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, 1_200_000);

const rendered = (own: object = {}, more: object = {}): Promise<KubeYaml[]> =>
  render.chart({ ...more, console: own });
const find = (objects: KubeYaml[], id: string): KubeYaml | undefined =>
  objects.find((object) => idOf(object) === id);
const DEPLOYMENT = 'Deployment/gx-system/gx-console';

test('the console has an account without a token and without any permission', async () => {
  const objects = await rendered(
    {},
    { watchAllNamespaces: true, builds: { registry: 'registry.example.com' } },
  );
  expect(find(objects, 'ServiceAccount/gx-system/gx-console')).toMatchObject({
    automountServiceAccountToken: false,
  });
  expect(find(objects, DEPLOYMENT)?.spec?.template?.spec).toMatchObject({
    automountServiceAccountToken: false,
    serviceAccountName: 'gx-console',
  });
  const bound = objects.filter(({ subjects }) =>
    ((subjects ?? []) as { name: string }[]).some(({ name }) => name === 'gx-console'),
  );
  expect(bound.map(idOf)).toEqual([]);
});

test('its settings reach the process', async () => {
  const env =
    find(await rendered({ shutdownDelaySeconds: 30 }), DEPLOYMENT)?.spec?.template?.spec
      .containers[0]?.env ?? [];
  const config = readConsoleConfig(Object.fromEntries(env.map(({ name, value }) => [name, value])));
  expect(config).toMatchObject({
    port: 8080,
    healthPort: 8081,
    sessionKeyFile: '/etc/gx/session/key',
    shutdownDelaySeconds: 30,
  });
  expect(config.controlPlaneUrl.href).toBe('http://gx-control-plane.gx-system.svc.cluster.local/');
});

test('it finds agents in the domain of the cluster, and the operator lets it in to them', async () => {
  const variable = async (
    deployment: string,
    name: string,
    own: object = {},
  ): Promise<string | undefined> => {
    const objects = await rendered(own, { settings: { clusterDomain: 'example.internal' } });
    const env =
      find(objects, `Deployment/gx-system/${deployment}`)?.spec?.template?.spec.containers[0]
        ?.env ?? [];
    return env.find((one) => one.name === name)?.value;
  };
  expect(await variable('gx-console', 'GX_CLUSTER_DOMAIN')).toBe('example.internal');
  expect(await variable('gx-operator', 'GX_CONSOLE')).toBe('true');
  expect(await variable('gx-operator', 'GX_CONSOLE', { enabled: false })).not.toBe('true');
});

test('the control plane reads one key of its Secret, by which it knows the console', async () => {
  const volumes = async (own: object): Promise<unknown> =>
    find(await rendered(own), 'Deployment/gx-system/gx-control-plane')?.spec?.template?.spec
      .volumes;
  const secret = { optional: true, items: [{ key: 'client-key', path: 'client-key' }] };
  expect(await volumes({})).toContainEqual({
    name: 'console',
    secret: { secretName: 'gx-console', ...secret },
  });
  expect(await volumes({ sessionSecretName: 'ours' })).toContainEqual({
    name: 'console',
    secret: { secretName: 'ours', ...secret },
  });
  expect(JSON.stringify(await volumes({ enabled: false }))).not.toContain('client-key');
});

test('without a cluster no secret is made, because everybody with the manifest would read it; one of the own is required', async () => {
  const volumes = async (own: object): Promise<unknown> =>
    find(await rendered(own), DEPLOYMENT)?.spec?.template?.spec.volumes;
  expect((await rendered()).filter(({ kind }) => kind === 'Secret')).toEqual([]);
  expect(await volumes({})).toContainEqual({
    name: 'session',
    secret: { secretName: 'gx-console', optional: true },
  });
  expect(await volumes({ sessionSecretName: 'ours' })).toContainEqual({
    name: 'session',
    secret: { secretName: 'ours', optional: false },
  });
});

test('its Service is inside the cluster unless it is to be elsewhere, and its policy admits its own ports alone', async () => {
  const service = async (own: object): Promise<unknown> =>
    find(await rendered({ service: own }), 'Service/gx-system/gx-console');
  expect(await service({})).toMatchObject({
    spec: { type: 'ClusterIP', ports: [{ port: 80, targetPort: 'http' }, { port: 8081 }] },
  });
  const outside = { type: 'NodePort', nodePort: 30_090, port: 8088, annotations: { note: 'a' } };
  expect(await service(outside)).toMatchObject({
    metadata: { annotations: { note: 'a' } },
    spec: { type: 'NodePort', ports: [{ port: 8088, nodePort: 30_090 }, {}] },
  });
  const policies = await rendered({}, { networkPolicy: { enabled: true } });
  expect(find(policies, 'NetworkPolicy/gx-system/gx-console')?.spec).toMatchObject({
    policyTypes: ['Ingress'],
    ingress: [{ ports: [{ port: 'http' }] }, { ports: [{ port: 'health' }] }],
  });
});

test('without it, nothing of it is there', async () => {
  const objects = await rendered({ enabled: false }, { networkPolicy: { enabled: true } });
  expect(objects.filter((object) => idOf(object).includes('gx-console'))).toEqual([]);
});

describe('its route', () => {
  const own = { host: 'console.example.com', labels: { team: 'a' }, annotations: { note: 'b' } };
  const parentRefs = [{ name: 'public' }];
  const routeOf = async (route: object, more: object = {}): Promise<KubeYaml | undefined> =>
    (await rendered({ route: { ...own, ...route } }, more)).find(
      ({ kind, metadata }) => /Route|Ingress/.test(kind) && metadata.name === 'gx-console',
    );

  test('leads from a host of its own, of either kind', async () => {
    const http = await routeOf({ kind: 'HTTPRoute', parentRefs });
    expect(http).toMatchObject({ metadata: { labels: own.labels, annotations: own.annotations } });
    const rules = [
      { backendRefs: [{ name: 'gx-console', port: 80 }], timeouts: { request: '0s' } },
    ];
    expect(http?.spec).toEqual({ parentRefs, hostnames: [own.host], rules });
    const ingress = await routeOf({ kind: 'Ingress', className: 'nginx', tlsSecretName: 'tls' });
    expect(ingress?.metadata.annotations).toMatchObject({
      'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
    });
    expect(ingress?.spec).toMatchObject({
      ingressClassName: 'nginx',
      tls: [{ hosts: [own.host], secretName: 'tls' }],
      rules: [
        {
          host: own.host,
          http: {
            paths: [
              { path: '/', backend: { service: { name: 'gx-console', port: { number: 80 } } } },
            ],
          },
        },
      ],
    });
  });

  test('leads to its paths alone on the host of the control plane', async () => {
    const beside = (route: object): object => ({ controlPlane: { route: { ...own, ...route } } });
    const given = { kind: 'HTTPRoute', parentRefs };
    const http = await routeOf(given, beside(given));
    expect(http?.spec).toMatchObject({
      rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/console' } }] }],
    });
    const ingress = await routeOf({ kind: 'Ingress' }, beside({ kind: 'Ingress' }));
    expect(ingress?.spec).toMatchObject({
      rules: [{ http: { paths: [{ path: '/console', pathType: 'Prefix' }] } }],
    });
  });

  test.each([
    ['no host', { kind: 'Ingress', host: '' }, /console.route.host/],
    ['no parent', { kind: 'HTTPRoute' }, /console.route.parentRefs/],
    [
      'a class of an HTTPRoute',
      { kind: 'HTTPRoute', parentRefs, className: 'a' },
      /console.route: className/,
    ],
  ])('with %s ends the render', async (_situation, route, problem) => {
    await expect(routeOf(route)).rejects.toThrow(problem);
  });
});
