import { setTimeout as wait } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { runProcess } from '../../dev/commands.ts';
import { ensurePathTool } from '../../dev/cluster/path-tools.ts';
import { fetchAgentKey, call, waitForDeployment, type Api } from '../../dev/run/control-plane.ts';
import type { Condition } from '../../src/schema/platform/objects/conditions.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { prober } from '../kit/prober.ts';
import { installContour, PROXIES } from '../kit/routes/contour-pods.ts';
import {
  DOMAIN,
  GATEWAYS,
  newIssuer,
  PARENT,
  renewWildcard,
  WILDCARD,
} from '../kit/routes/gateway.ts';
import { underRenewal } from '../kit/routes/renewal.ts';
import { heardInJavaScript, heardInPython } from '../kit/routes/sdk-clients.ts';
import {
  followBySocket,
  leftByTwoReaders,
  leftIn,
  post,
  read,
  stepping,
  type Reached,
} from '../kit/routes/steps-stream.ts';
import { openWay, type Way } from '../kit/routes/way.ts';
import { eachOf, until } from '../kit/until.ts';

/* A deployment that is reached through Contour and Envoy, by each kind of route, in real pods. */

type Answer = Awaited<ReturnType<typeof waitForDeployment>>;
type Resource = { status?: { url?: string; asleepSince?: string; conditions?: Condition[] } };

const NAMESPACE = 'gx-agents';
const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const quiet = (): void => undefined;
/** Seconds in which a deployment leaves, with pods that end in order on a busy machine. */
const LEAVING = 300;
const issuer = newIssuer();
const name = `routed-${Date.now().toString(36).slice(-5)}`;

const NONE = {
  kind: 'None',
  host: '',
  parentRefs: [],
  className: '',
  tls: { enabled: false, secretName: '' },
  former: [],
  proxies: PROXIES,
};
const host = `{name}-{namespace}.${DOMAIN}`;
const KINDS = {
  HTTPRoute: {
    reason: 'Accepted',
    certificate: GATEWAYS,
    route: { ...NONE, kind: 'HTTPRoute', host, parentRefs: [{ ...PARENT, sectionName: 'https' }] },
  },
  Ingress: {
    reason: 'HasAddress',
    certificate: NAMESPACE,
    route: {
      ...NONE,
      kind: 'Ingress',
      host,
      className: 'contour',
      tls: { enabled: true, secretName: WILDCARD },
      former: ['HTTPRoute'],
    },
  },
};

let kubectl: Kubectl;
let contour: Awaited<ReturnType<typeof installContour>>;
let way: Way;
let made: Answer;
let key: string;

/** Gives the installation other settings of routes, and keeps the rest. */
async function upgrade(route: object): Promise<void> {
  const helm = await ensurePathTool('helm', quiet);
  const args = [
    'upgrade',
    'gx',
    'charts/gx-platform',
    '--namespace',
    'gx-system',
    '--reuse-values',
    '--values',
    '-',
    '--wait',
  ];
  await runProcess(helm, [...args, '--kubeconfig', system.kubeconfig], {
    input: JSON.stringify({ settings: { route } }),
  });
}

const patch = (spec: object): Promise<string> =>
  kubectl('patch', 'gxd', name, '-n', NAMESPACE, '--type=merge', '-p', JSON.stringify({ spec }));
const resource = (): Promise<Resource> =>
  kubectl.json<Resource>('get', 'gxd', name, '-n', NAMESPACE);

/** Deploys the graph that counts down, as a volume in the place of the image's example. */
async function deploySteps(): Promise<Answer> {
  const data = {
    'steps.js': readFileSync(new URL('../agent/wire/graphs/steps.js', import.meta.url), 'utf8'),
    'gx.json': JSON.stringify({ graphs: { steps: './steps.js:graph' } }),
    'package.json': JSON.stringify({ type: 'module' }),
  };
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: NAMESPACE },
    data,
  });
  const volumes = {
    volumes: [{ name: 'graph', configMap: { name } }],
    volume_mounts: [{ name: 'graph', mountPath: '/agent' }],
  };
  const created = await call<Answer>(api, 'POST', '/v2/deployments', {
    name,
    source: 'external_container',
    source_config: { resource_spec: { ...volumes, min_scale: 0 } },
    source_revision_config: { image_uri: system.image },
    secrets: [],
  });
  return waitForDeployment(api, created, quiet);
}

// The programs of both come from folders of the machine, which the node of another kind of cluster does not have.
describe('a deployment behind Contour', () => {
  beforeAll(async () => {
    kubectl = kubectlFor(system);
    contour = await installContour(system);
    for (const namespace of [GATEWAYS, NAMESPACE])
      await renewWildcard(contour.kube, namespace, issuer);
    way = await openWay(contour.entrance, {
      authority: issuer.certificate,
      direct: [contour.entrance.http.host],
    });
    await upgrade(KINDS.HTTPRoute.route);
    made = await deploySteps();
    key = await fetchAgentKey(api, made);
  });
  // Each step is made whatever became of those before, and what failed is told with what is left.
  afterAll(async () => {
    const nothing = async (...what: string[]): Promise<true> => {
      const left = (
        await kubectl('get', ...what, '-n', NAMESPACE, '--ignore-not-found', '-o', 'name')
      ).trim();
      if (left !== '') throw new Error(`there are still ${left.split('\n').join(', ')}`);
      return true;
    };
    await eachOf([
      async () =>
        made && call(api, 'DELETE', `/v2/deployments/${made.id}?delete_tracing_project=true`),
      // Its route is the last of its objects to go: the pods have the time that they need to end.
      async () => until('the deployment is gone', () => nothing('gxd', name), LEAVING),
      async () => upgrade({ ...NONE, former: ['HTTPRoute', 'Ingress'] }),
      async () => until('all routes are gone', () => nothing('httproutes,ingresses'), LEAVING),
      async () => upgrade(NONE),
      async () => kubectl('delete', 'configmap', name, '-n', NAMESPACE, '--ignore-not-found'),
      async () => way?.close(),
      async () => contour?.stop(),
    ]);
  });

  describe.each(['HTTPRoute', 'Ingress'] as const)('by an %s', (kind) => {
    const { reason, certificate, route } = KINDS[kind];
    const url = `https://${name}-${NAMESPACE}.${DOMAIN}`;
    const reached = (): Reached => ({ url, headers: { 'x-api-key': key } });
    beforeAll(async () => {
      if (kind === 'Ingress') await upgrade(route);
    });

    test('is told where it is reached, by Contour, and answers there', async () => {
      const routed = async (): Promise<Condition | undefined> =>
        (await resource()).status?.conditions?.find(
          ({ type, reason: given }) => type === 'Routed' && given === reason,
        );
      expect(await until('Contour has answered', routed)).toMatchObject({ status: 'True' });
      await until(
        'its address is that of the route',
        async () => (await resource()).status?.url === url,
      );
      expect(await call<Answer>(api, 'GET', `/v2/deployments/${made.id}`)).toMatchObject({ url });
      await until('the proxy has the route', async () => (await fetch(`${url}/ok`)).ok);
    });

    test('both clients hear whole runs, and go on behind the last event that they have', async () => {
      const heard = { whole: [4, 3, 2, 1, 0], first: [4], rest: [3, 2, 1, 0] };
      expect(await heardInJavaScript({ url, key })).toEqual(heard);
      expect(
        await heardInPython({
          url,
          key,
          entrance: contour.entrance,
          authority: issuer.certificate,
        }),
      ).toEqual(heard);
      expect(await leftByTwoReaders(reached())).toEqual([4, 3, 2, 1, 0]);
    });

    // Envoy ends answers after 15 s, unless the route says otherwise.
    test('keeps silent streams and sockets open, and replaces its certificate under load without a failed request', async () => {
      const stream = async () => read(await post(reached(), '/runs/stream', stepping(1, 20_000)));
      const renew = (): Promise<void> => renewWildcard(contour.kube, certificate, issuer);
      const renewal = underRenewal({
        ...reached(),
        entrance: contour.entrance,
        authority: issuer.certificate,
        renew,
      });
      const [found, renewed, socket] = await Promise.all([
        stream(),
        renewal,
        followBySocket(reached(), 20_000),
      ]);
      expect([leftIn(found), found.broke, found.silence > 19, socket]).toEqual([
        [0],
        false,
        true,
        'open',
      ]);
      expect(renewed).toMatchObject({ failures: [], left: [4, 3, 2, 1, 0], broke: false });
      expect(renewed.rounds).toBeGreaterThan(50);
    });

    // What follows depends on Envoy and the Service alone, which are the same for both kinds.
    if (kind !== 'HTTPRoute') return;

    test('switches under load to pods that let in the proxy of the settings alone, and no request fails', async () => {
      await patch({ network: { ingress: 'Namespace' } });
      await until('its policy is there', () =>
        kubectl('get', 'networkpolicy', `${name}-agent`, '-n', NAMESPACE),
      );
      expect((await resource()).status?.conditions?.map(({ type }) => type)).not.toContain(
        'ProxyNotAdmitted',
      );
      const client = new Client({ apiUrl: url, apiKey: key, callerOptions: { maxRetries: 0 } });
      const asked = prober(async () => {
        const answer = await fetch(`${url}/ok?check_db=0`, { headers: { connection: 'close' } });
        if (!answer.ok) throw new Error(`/ok answered ${answer.status}`);
      }, 50);
      const ran = prober(async (number) => {
        const state = (await client.runs.wait(null, 'steps', {
          input: { left: 1, pause: number % 5 },
        })) as {
          done?: number;
        };
        if (state.done !== 1) throw new Error(`a run answered ${JSON.stringify(state)}`);
      }, 20);
      const patched = await call<Answer>(api, 'PATCH', `/v2/deployments/${made.id}`, {
        secrets: [{ name: 'KIND', value: kind }],
      });
      await waitForDeployment(api, patched, quiet);
      // The old pods leave after the switch.
      await wait(8000);
      const ended = await Promise.all([asked.stop(), ran.stop()]);
      expect(ended.flatMap(({ failures }) => failures)).toEqual([]);
      expect(ended.map(({ rounds }) => rounds > 20)).toEqual([true, true]);
    });

    test('sleeps, and wakes by its route', async () => {
      await patch({ sleep: { afterSeconds: 5 } });
      await until('it sleeps', async () => (await resource()).status?.asleepSince !== undefined);
      await patch({ sleep: { afterSeconds: 3600 } });
      expect((await fetch(`${url}/threads`, { method: 'POST', body: '{}' })).status).toBe(401);
      const answer = await post(reached(), '/runs/wait', {
        assistant_id: 'steps',
        input: { left: 1 },
      });
      expect([answer.status, await answer.json()]).toEqual([
        200,
        expect.objectContaining({ left: 0, done: 1 }),
      ]);
    });
  });
});
