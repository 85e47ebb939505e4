import { afterAll, beforeAll, expect, test } from 'vitest';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import type { OperatorSettings } from '../../src/config/platform/operator.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import type { Condition } from '../../src/schema/platform/objects/conditions.ts';
import type { DeploymentSpec } from '../../src/schema/platform/resources/custom-resources.ts';
import { operatorAccess } from '../../src/operator/access.ts';
import { accountWith, grant } from '../kit/account.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { httpRouteDefinition } from '../kit/gateway-api.ts';
import { newDeployment } from '../kit/objects.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/*
 * Routes of deployments on a real API server with the Gateway API's own definition, which is missing at first. The test
 * plays the controllers, by the status of routes. The operator has its documented rights alone.
 */

const host = '{name}.{namespace}.agents.example.com';
const parentRefs = [{ name: 'public', namespace: 'gateways' }];
const routesBy = (route: object): Partial<OperatorSettings> => {
  const {
    route: settings,
    formerRoutes,
    routeProxies,
  } = readOperatorConfig({ GX_ROUTE: JSON.stringify(route) }).settings;
  return { ...(settings && { route: settings }), formerRoutes, routeProxies };
};

let server: ApiServer;
let stage: Stage;
let limited: string;

beforeAll(async () => {
  server = await startApiServer();
  stage = await openStage('routes', server.kubeconfig);
  stage.startKubelet();
  const { kube, namespace, kubeconfig } = stage;
  const { worked, secrets, own, ports, apiServer, routes } = operatorAccess;
  await grant(kube, { namespace: 'default', rules: apiServer, to: namespace });
  const rules = [
    ...worked,
    ...secrets,
    ...own,
    ...ports,
    ...routes.HTTPRoute.worked,
    ...routes.Ingress.worked,
  ];
  limited = await accountWith(kube, { namespace, kubeconfig, rules });
}, 1_200_000);
afterAll(async () => {
  await stage.stop();
  await server.stop();
});

const create = (name: string, route?: DeploymentSpec['route']): Promise<object> =>
  stage.kube.create(
    kinds.deployment,
    newDeployment(stage.namespace, { metadata: { name }, ...(route && { spec: { route } }) }),
  );
const ask = (name: string, route: DeploymentSpec['route']): Promise<object> =>
  stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name }, [
    { op: 'add', path: '/spec/route', value: route },
  ]);
const find = (kind: 'httpRoute' | 'ingress', name: string): Promise<KubeObject | undefined> =>
  stage.kube.find(kinds[kind], { namespace: stage.namespace, name: `${name}-route` });
const conditionOf = async (name: string, type: string): Promise<Condition | undefined> =>
  (await stage.see.deployment(name)).status?.conditions?.find((one) => one.type === type);
const untilRouted = (name: string, reason: string, seconds = 30): Promise<true> =>
  until(
    `Routed of ${name} is ${reason}`,
    async () => (await conditionOf(name, 'Routed'))?.reason === reason,
    seconds,
  );
const urlOf = async (name: string): Promise<string | undefined> =>
  (await stage.see.deployment(name)).status?.url;
const hostOf = (name: string): string => `${name}.${stage.namespace}.agents.example.com`;

/** Answers for the parent of a route, as a controller does. */
async function answer(
  name: string,
  { status, reason }: { status: 'True' | 'False'; reason: string },
): Promise<void> {
  const route = await until(`${name} has a route`, () => find('httpRoute', name));
  const common = {
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration: route.metadata.generation,
    message: 'as it is',
  };
  const conditions = [
    { type: 'Accepted', status, reason, ...common },
    { type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs', ...common },
  ];
  const parents = [{ parentRef: parentRefs[0], controllerName: 'example.com/test', conditions }];
  await stage.kube.patchStatus(
    kinds.httpRoute,
    { namespace: stage.namespace, name: `${name}-route` },
    { parents },
  );
}

test('a deployment gets its route once the kind is installed, and its address once the parent accepts it', async () => {
  const { kube, namespace, see } = stage;
  const operator = await stage.startOperator({
    kubeconfig: limited,
    settings: routesBy({ kind: 'HTTPRoute', parentRefs, host }),
  });
  await create('chat');
  await see.untilReady('chat');
  await untilRouted('chat', 'RouteKindMissing');
  const inside = `http://chat-agent.${namespace}.svc.cluster.local`;
  expect(await urlOf('chat')).toBe(inside);
  expect(await conditionOf('chat', 'ProxyNotAdmitted')).toMatchObject({
    status: 'True',
    reason: 'NoProxyConfigured',
  });

  await kube.create(kinds.customResourceDefinition, await httpRouteDefinition());
  const made = await until(
    'the route is made within a minute',
    () => find('httpRoute', 'chat').catch(() => undefined),
    60,
  );
  expect(made.spec).toMatchObject({ hostnames: [hostOf('chat')], parentRefs });
  await untilRouted('chat', 'NotAnswered');
  await answer('chat', { status: 'False', reason: 'NotAllowedByListeners' });
  await untilRouted('chat', 'NotAllowedByListeners');
  expect([await urlOf('chat'), (await conditionOf('chat', 'Ready'))?.status]).toEqual([
    inside,
    'True',
  ]);
  await answer('chat', { status: 'True', reason: 'Accepted' });
  await untilRouted('chat', 'Accepted');
  await until(
    'the address is that of the route',
    async () => (await urlOf('chat')) === `https://${hostOf('chat')}`,
  );

  const drift = [{ op: 'replace' as const, path: '/spec/hostnames', value: ['bank.example'] }];
  await kube.patchJson(kinds.httpRoute, { namespace, name: 'chat-route' }, drift);
  const isRepaired = async (): Promise<boolean> =>
    JSON.stringify((await find('httpRoute', 'chat'))?.spec).includes(hostOf('chat'));
  await until('the route is repaired', isRepaired);
  await ask('chat', { path: '/v1' });
  await until('the path is stripped', async () =>
    JSON.stringify((await find('httpRoute', 'chat'))?.spec).includes('URLRewrite'),
  );
  await answer('chat', { status: 'True', reason: 'Accepted' });
  await until(
    'the address has the path',
    async () => (await urlOf('chat')) === `https://${hostOf('chat')}/v1`,
  );
  expect((await see.deployment('chat')).status?.route).toEqual({
    hosts: [hostOf('chat')],
    path: '/v1',
  });

  await ask('chat', { enabled: false });
  await until('the route is removed', async () => (await find('httpRoute', 'chat')) === undefined);
  await until(
    'nothing says that it has one',
    async () => (await conditionOf('chat', 'Routed')) === undefined,
  );
  expect([await urlOf('chat'), (await see.deployment('chat')).status?.route]).toEqual([
    inside,
    undefined,
  ]);
  expect(
    (await kube.listAll(kinds.revision, { namespace })).map(({ metadata }) => metadata.name),
  ).toEqual(['chat-00001']);
  await operator.stop();
});

test('a host is the first deployment that has it, and the next one gets it when that is deleted', async () => {
  const { kube, namespace } = stage;
  await kube.create(kinds.listener, {
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'default', namespace },
    spec: { computeId: 'test', namespaces: [namespace], hosts: ['*.shop.example'] },
  });
  const operator = await stage.startOperator({
    kubeconfig: limited,
    settings: routesBy({ kind: 'HTTPRoute', parentRefs, host }),
  });
  await create('first', { hosts: ['a.shop.example'] });
  await until('the first has the host', () => find('httpRoute', 'first'));
  await create('second', { hosts: ['a.shop.example'] });
  await untilRouted('second', 'HostTaken');
  expect((await conditionOf('second', 'Routed'))?.message).toContain(
    `${namespace}/first has the host a.shop.example`,
  );
  expect(await find('httpRoute', 'second')).toBeUndefined();
  await stage.see.untilReady('second');
  await create('third', { hosts: ['bank.example'] });
  await untilRouted('third', 'HostNotAllowed');
  const granted = [{ op: 'add' as const, path: '/spec/hosts/-', value: 'bank.example' }];
  await kube.patchJson(kinds.listener, { namespace, name: 'default' }, granted);
  await until('it gets the host that is granted now', () => find('httpRoute', 'third'));
  await kube.delete(kinds.deployment, { namespace, name: 'first' });
  await until('the second gets the host', () => find('httpRoute', 'second'));
  await operator.stop();
});

test('an Ingress takes the place of an HTTPRoute, and is routed once it has an address', async () => {
  const { kube, namespace } = stage;
  const proxies = [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }];
  const ingress = { kind: 'Ingress', host, former: ['HTTPRoute'], proxies };
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'shop' } }));
  const operator = await stage.startOperator({ kubeconfig: limited, settings: routesBy(ingress) });
  await until(
    'the former routes are removed',
    async () => (await kube.listAll(kinds.httpRoute, { namespace })).length === 0,
  );
  await stage.see.untilReady('shop');
  await untilRouted('shop', 'NoAddressYet');
  expect(await conditionOf('shop', 'ProxyNotAdmitted')).toBeUndefined();
  const policy = await kube.get(kinds.networkPolicy, { namespace, name: 'shop-agent' });
  expect(JSON.stringify(policy.spec)).toContain(JSON.stringify(proxies[0]));
  await kube.patchStatus(
    kinds.ingress,
    { namespace, name: 'shop-route' },
    { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
  );
  await untilRouted('shop', 'HasAddress');
  await until(
    'its address is that of the route',
    async () => (await urlOf('shop')) === `http://${hostOf('shop')}`,
  );
  await ask('shop', { path: '/api' });
  await untilRouted('shop', 'PathNotStripped');
  expect((await conditionOf('shop', 'Ready'))?.status).toBe('True');
  await kube.delete(kinds.deployment, { namespace, name: 'shop' });
  await until(
    'the route goes with its deployment',
    async () => (await find('ingress', 'shop')) === undefined,
  );
  await operator.stop();
});

test('a route that somebody else has made under its name is left alone, and the deployment serves', async () => {
  const { kube, namespace } = stage;
  const rules = [
    {
      host: 'theirs.example',
      http: {
        paths: [
          {
            path: '/',
            pathType: 'Prefix',
            backend: { service: { name: 'x', port: { number: 80 } } },
          },
        ],
      },
    },
  ];
  const theirs = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'mail-route', namespace },
    spec: { rules },
  };
  await kube.create(kinds.ingress, theirs);
  const operator = await stage.startOperator({
    kubeconfig: limited,
    settings: routesBy({ kind: 'Ingress', host }),
  });
  await create('mail');
  await stage.see.untilReady('mail');
  await untilRouted('mail', 'RouteRefused');
  expect((await conditionOf('mail', 'Routed'))?.message).toContain('belongs to somebody else');
  expect((await find('ingress', 'mail'))?.spec).toMatchObject({
    rules: [{ host: 'theirs.example' }],
  });
  await operator.stop();
});

test.each([
  ['a wildcard', { hosts: ['*.example.com'] }, /spec.route.hosts/],
  ['a path with a slash at its end', { path: '/v1/' }, /spec.route.path/],
])('%s is refused by the API server, with the name of the field', async (_, route, field) => {
  await expect(create('odd', route)).rejects.toThrow(field);
});
