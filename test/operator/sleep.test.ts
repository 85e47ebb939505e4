import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readGatewayConfig } from '../../src/config/platform/gateway.ts';
import { startGateway, type Gateway } from '../../src/gateway/start.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { ROLLOUT, WAKE } from '../../src/schema/platform/objects/labels.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { buildWorkPath, type WorkReport } from '../../src/schema/wire/work-report.ts';
import { freePort } from '../kit/agent-server.ts';
import { silentLog } from '../kit/log.ts';
import { newDeployment } from '../kit/objects.ts';
import type { RunningOperator } from '../kit/operator.ts';
import { operatorProcess, type OperatorProcess } from '../kit/operator-process.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/*
 * A deployment that asks for no pod at least sleeps when nobody needs it, and wakes when somebody does. What its pods
 * report, and their answers, are the test's.
 */

const GATEWAY_ADDRESS = '10.9.0.1';

let stage: Stage;
let gateway: Gateway;
let operator: RunningOperator;
/** Ends the gateway, as SIGTERM does. */
const ending = new AbortController();
/** Where the api pods answer, while the double of them runs. */
let agentPort: number;

beforeAll(async () => {
  stage = await openStage('sleep');
  const { kube, namespace, kubeconfig } = stage;
  stage.startKubelet();
  agentPort = await freePort();
  const config = readGatewayConfig({
    GX_SERVER_HOST: '127.0.0.1',
    GX_SERVER_PORT: '0',
    GX_HEALTH_PORT: '0',
    GX_REPORTS_PORT: '0',
    GX_HOLD_SECONDS: '600',
    GX_NAMESPACE: namespace,
    GX_WATCH_NAMESPACES: namespace,
  });
  const own = await connect({ fieldManager: 'gx-gateway', userAgent: 'gx-gateway', kubeconfig });
  const placeOf = () => ({ host: '127.0.0.1', port: agentPort });
  gateway = stage.endWith(
    await startGateway({ config, kube: own, log: silentLog(), signal: ending.signal, placeOf }),
  );
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'gateway-1', namespace, labels: { 'kubernetes.io/service-name': 'gateway' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [GATEWAY_ADDRESS], conditions: { ready: true } }],
    ports: [{ name: 'reports', port: 8082, protocol: 'TCP' }],
  };
  await kube.create(kinds.endpointSlice, slice);
  operator = await stage.startOperator({
    gateways: () => [`http://127.0.0.1:${gateway.reportsPort}`],
    settings: { gateway: { service: 'gateway', namespace } },
  });
});
afterAll(() => stage.stop());

/** Has an operator end with the stage. */
const endable = (process: OperatorProcess): OperatorProcess & { stop(): Promise<void> } => ({
  ...process,
  stop: () => process.kill(),
});

const QUEUE = { due: 0, running: 0, webhooks: 0, next_due: null };
const IDLE: WorkReport = { from: 'api', slots: 0, idle_seconds: 100, queue: QUEUE };

/** Deploys one that may sleep, whose pods report that they ask for the key. Returns the key. */
async function deploy(
  name: string,
  spec: Partial<DeploymentResource['spec']> = {},
  size: object = {},
): Promise<string> {
  const { kube, namespace, see } = stage;
  const template = {
    sourceRevisionConfig: { imageUri: 'agent:1' },
    resourceSpec: { minScale: 0, ...size },
  };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name },
      template,
      spec: { sleep: { afterSeconds: 30 }, ...spec },
    }),
  );
  const { data } = await until('there is a key', () =>
    see.secret(`${name}-key`).catch(() => undefined),
  );
  const key = Buffer.from(data?.['api-key'] ?? '', 'base64').toString('utf8');
  const server: WorkReport['server'] = {
    revision: `${name}-00001`,
    version: 'v1.2.3',
    guard: 'key',
  };
  await until('the gateway takes a report', () =>
    report(name, key, { from: 'worker', slots: 10, idle_seconds: 0, server }),
  );
  await see.untilReady(name);
  return key;
}

async function report(name: string, key: string, body: WorkReport): Promise<boolean> {
  const answer = await fetch(
    `http://127.0.0.1:${gateway.port}${buildWorkPath(stage.namespace, name)}`,
    {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    },
  );
  return answer.status === 200;
}

const asleep = ({ status }: DeploymentResource) =>
  status?.conditions?.find(({ type }) => type === 'Asleep');
const sizes = async (revision: string): Promise<(number | undefined)[]> =>
  Promise.all(
    ['api', 'queue'].map(
      async (half) =>
        ((await stage.see.workload(`${revision}-${half}`)).spec as { replicas?: number }).replicas,
    ),
  );
const slicesOf = async (name: string): Promise<KubeObject[]> =>
  (
    await stage.kube.listAll(kinds.endpointSlice, {
      namespace: stage.namespace,
      labelSelector: `kubernetes.io/service-name=${name}-agent`,
    })
  ).filter(
    ({ metadata }) => metadata.labels?.['endpointslice.kubernetes.io/managed-by'] === 'gx-operator',
  );

/** Reports that nobody needs it until it sleeps. */
const fallAsleep = (name: string, key: string): Promise<DeploymentResource> =>
  until(`${name} sleeps`, async () => {
    await report(name, key, IDLE);
    const found = await stage.see.deployment(name);
    return (
      asleep(found)?.status === 'True' &&
      found.status?.reason === undefined &&
      (await sizes(`${name}-00001`)).every((size) => size === 0) &&
      found
    );
  });

/** Returns one of the gateway's own figures. */
async function figureOf(name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${gateway.healthPort}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}
const wakes = (): Promise<number> => figureOf('gx_gateway_wakes_total');
const heldNow = (): Promise<number> => figureOf('gx_gateway_held_requests');

/** Asks two hundred things at once, each other one a change. Returns how many were answered, and sent back. */
async function askTwoHundred(
  url: string,
  key: string,
): Promise<{ answered: number; sentBack: number; broken: number }> {
  const ask = async (at: number): Promise<'answered' | 'sentBack' | 'broken'> => {
    const more = at % 2 === 0 ? {} : { method: 'POST', body: '{}' };
    const answer = await fetch(`${url}/threads/${at}`, {
      headers: { 'x-api-key': key },
      ...more,
    }).catch(() => undefined);
    await answer?.text();
    if (answer === undefined) return 'broken';
    return answer.status === 503 && answer.headers.get('retry-after') !== null
      ? 'sentBack'
      : 'answered';
  };
  const all = await Promise.all(Array.from({ length: 200 }, (_, at) => ask(at)));
  const count = (how: string): number => all.filter((one) => one === how).length;
  return { answered: count('answered'), sentBack: count('sentBack'), broken: count('broken') };
}

async function startAgentDouble(): Promise<Server> {
  const server = createServer(
    (incoming, answer) => void answer.end(JSON.stringify({ answered: incoming.url })),
  ).listen(agentPort, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

test('it falls asleep, two hundred requests at once wake it once, and all are answered', async () => {
  const { see, namespace } = stage;
  const key = await deploy('chat');
  expect(await sizes('chat-00001')).toEqual([1, 1]);
  const sleeping = await fallAsleep('chat', key);
  const port = sleeping.status?.gatewayPort;
  expect(asleep(sleeping)).toMatchObject({ reason: 'Idle' });
  await until(
    'REST would show it as unused',
    async () => (await see.deployment('chat')).status?.phase === 'UNUSED',
  );
  // Whoever calls its Service reaches the gateway now, at the port for this deployment.
  expect(await slicesOf('chat')).toMatchObject([
    {
      addressType: 'IPv4',
      endpoints: [{ addresses: [GATEWAY_ADDRESS] }],
      ports: [{ name: 'http', port }],
    },
  ]);
  expect((await see.service('chat-direct')).spec).toMatchObject({
    selector: { 'gx.dev/component': 'api' },
  });
  const url = `http://127.0.0.1:${port}`;
  const refused = await fetch(`${url}/threads`, {
    method: 'POST',
    headers: { 'x-api-key': 'gxa_wrong' },
  });
  expect([refused.status, await sizes('chat-00001')]).toEqual([401, [0, 0]]);
  const before = await wakes();
  const asking = Array.from({ length: 200 }, async (_, at) =>
    (await fetch(`${url}/threads/${at}`, { headers: { 'x-api-key': key } })).json(),
  );
  await until('both kinds of pods start', async () =>
    (await sizes('chat-00001')).every((size) => size === 1),
  );
  const agent = await startAgentDouble();
  expect(await Promise.all(asking)).toEqual(
    Array.from({ length: 200 }, (_, at) => ({ answered: `/threads/${at}` })),
  );
  expect((await wakes()) - before).toBe(1);
  agent.closeAllConnections();
  agent.close();
  await until(
    'the Service leads to the pods alone',
    async () => (await slicesOf('chat')).length === 0,
  );
  await see.untilReady('chat');
  const awake = await see.deployment('chat');
  expect([asleep(awake)?.reason, awake.status?.asleepSince]).toEqual(['WokenByRequest', undefined]);
  const events = (await stage.kube.listAll(kinds.event, { namespace })) as {
    reason?: string;
    regarding?: { name?: string };
  }[];
  const told = events
    .filter(({ regarding }) => regarding?.name === 'chat')
    .map(({ reason }) => reason);
  expect(told).toEqual(expect.arrayContaining(['Idle', 'WokenByRequest']));
});

test('a run that its last pod told of wakes it, and so does another revision', async () => {
  const { kube, namespace, see } = stage;
  const key = await deploy('work');
  await fallAsleep('work', key);
  await until('it wakes for the run', async () => {
    await report('work', key, { ...IDLE, leaves: true, queue: { ...QUEUE, due: 1 } });
    return asleep(await see.deployment('work'))?.reason === 'WorkFound';
  });
  await until('its pods start', async () =>
    (await sizes('work-00001')).every((size) => size === 1),
  );
  await see.untilReady('work');
  await fallAsleep('work', key);
  const patch = [
    {
      op: 'replace' as const,
      path: '/spec/template/sourceRevisionConfig/imageUri',
      value: 'agent:2',
    },
  ];
  await kube.patchJson(kinds.deployment, { namespace, name: 'work' }, patch);
  await until(
    'the next revision serves',
    async () => (await see.deployment('work')).status?.activeRevision === 'work-00002',
  );
  expect(asleep(await see.deployment('work'))?.status).toBe('False');
});

test('a revision that waits at a step of its rollout sleeps too, wakes with its share, and wakes the deployment to serve', async () => {
  const { kube, namespace, see } = stage;
  const name = 'tried';
  const [first, second] = [`${name}-00001`, `${name}-00002`];
  const steps = [{ share: 20, pause: true }];
  const key = await deploy(name, { rollout: { steps }, progressDeadlineSeconds: 60 });
  const patch = [
    {
      op: 'replace' as const,
      path: '/spec/template/sourceRevisionConfig/imageUri',
      value: 'agent:2',
    },
  ];
  await kube.patchJson(kinds.deployment, { namespace, name }, patch);
  const candidate = async () => (await see.deployment(name)).status?.rollout?.candidate;
  const before = await until('the next revision has its share', async () => {
    const found = await candidate();
    return found?.share === 20 && found.unreadySince === undefined && found;
  });
  const everySize = async (size: number): Promise<boolean> =>
    [...(await sizes(first)), ...(await sizes(second))].every((found) => found === size);

  const sleeping = await fallAsleep(name, key);
  await until('all pods of both are gone', () => everySize(0));
  expect(await candidate()).toEqual(before);
  expect((await see.revision(second)).status).toMatchObject({
    phase: 'DEPLOYING',
    reason: 'Asleep',
    message: 'Its pods are stopped while the deployment sleeps. It keeps 20 % of the new threads.',
  });
  const asking = fetch(`http://127.0.0.1:${sleeping.status?.gatewayPort}/threads`, {
    headers: { 'x-api-key': key },
  });
  await until('the pods of both start', () => everySize(1));
  const agent = await startAgentDouble();
  expect((await asking).status).toBe(200);
  agent.closeAllConnections();
  agent.close();
  await until('it is as before', async () => isDeepStrictEqual(await candidate(), before));
  expect((await see.deployment(name)).status?.activeRevision).toBe(first);

  await until('it sleeps again', async () => {
    await report(name, key, IDLE);
    return asleep(await see.deployment(name))?.status === 'True' && (await everySize(0));
  });
  await kube.patchJson(kinds.revision, { namespace, name: second }, [
    { op: 'add', path: '/metadata/annotations', value: { [ROLLOUT]: 'promote' } },
  ]);
  await until(
    'it serves',
    async () => (await see.deployment(name)).status?.activeRevision === second,
  );
  expect(asleep(await see.deployment(name))?.status).toBe('False');
});

test('its database sleeps with it where that is asked for, and wakes with its pods', async () => {
  const { kube, namespace, see } = stage;
  const key = await deploy('deep', { sleep: { afterSeconds: 30, database: true } });
  const sleeping = await fallAsleep('deep', key);
  const database = async (): Promise<number | undefined> =>
    (
      (await kube.get(kinds.statefulSet, { namespace, name: 'deep-db' })).spec as {
        replicas?: number;
      }
    ).replicas;
  await until('the database stops', async () => (await database()) === 0);
  const asking = fetch(`http://127.0.0.1:${sleeping.status?.gatewayPort}/threads`, {
    headers: { 'x-api-key': key },
  });
  await until('the database starts', async () => (await database()) === 1);
  await until('both kinds of pods start', async () =>
    (await sizes('deep-00001')).every((size) => size === 1),
  );
  const agent = await startAgentDouble();
  expect((await asking).status).toBe(200);
  agent.closeAllConnections();
  agent.close();
  await see.untilReady('deep');
});

test('its key-value store sleeps with it, and wakes with its pods', async () => {
  const { kube, namespace, see } = stage;
  const key = await deploy('streams', {}, { redisMemoryMb: 64 });
  const store = async (): Promise<number | undefined> =>
    (
      (await kube.get(kinds.statefulSet, { namespace, name: 'streams-store' })).spec as {
        replicas?: number;
      }
    ).replicas;
  expect(await store()).toBe(1);
  const sleeping = await fallAsleep('streams', key);
  await until('the store stops', async () => (await store()) === 0);
  await until('it is told', async () =>
    (await see.deployment('streams')).status?.conditions?.some(
      ({ type, reason }) => type === 'StoreReady' && reason === 'Asleep',
    ),
  );
  const asking = fetch(`http://127.0.0.1:${sleeping.status?.gatewayPort}/threads`, {
    headers: { 'x-api-key': key },
  });
  await until('the store starts', async () => (await store()) === 1);
  const agent = await startAgentDouble();
  expect((await asking).status).toBe(200);
  agent.closeAllConnections();
  agent.close();
  await see.untilReady('streams');
});

test('its owner makes it stay awake, or stops it for good, and then no request wakes it', async () => {
  const { kube, namespace, see } = stage;
  const key = await deploy('owned');
  await fallAsleep('owned', key);
  const owner = (value: boolean) =>
    kube.patchJson(kinds.deployment, { namespace, name: 'owned' }, [
      { op: 'add', path: '/spec/hibernate', value },
    ]);
  await owner(true);
  const stopped = await until('it hibernates', async () => {
    const found = await see.deployment('owned');
    return (
      found.status?.asleepSince === undefined &&
      found.status?.conditions?.find(({ type }) => type === 'Ready')?.reason === 'Hibernated' &&
      found
    );
  });
  expect([asleep(stopped), stopped.status?.phase]).toEqual([undefined, 'UNUSED']);
  await owner(false);
  await until('its pods start', async () =>
    (await sizes('owned-00001')).every((size) => size === 1),
  );
  await see.untilReady('owned');
});

describe('killed while two hundred requests are held', () => {
  test('the pod that woke: what changes nothing is answered by the next one, the rest is told to come back', async () => {
    const key = await deploy('fragile');
    const port = (await fallAsleep('fragile', key)).status?.gatewayPort;
    const asking = askTwoHundred(`http://127.0.0.1:${port}`, key);
    await until('all are held', async () => (await heldNow()) === 200);
    let taken = 0;
    const dying = createServer(() => (taken += 1)).listen(agentPort, '127.0.0.1');
    await until('it has taken them', () => taken === 200);
    dying.closeAllConnections();
    dying.close();
    const next = await startAgentDouble();
    expect(await asking).toEqual({ answered: 100, sentBack: 100, broken: 0 });
    next.closeAllConnections();
    next.close();
  });

  test('the operator: the next one wakes the deployment, and all are answered', async () => {
    const { kube, kubeconfig, namespace, see } = stage;
    const key = await deploy('orphan');
    const port = (await fallAsleep('orphan', key)).status?.gatewayPort;
    await operator.stop();
    const env = { GX_GATEWAY_SERVICE: 'gateway' };
    const first = stage.endWith(
      endable(operatorProcess({ kube, namespace, kubeconfig, identity: 'killed', env })),
    );
    await first.leading();
    const asking = askTwoHundred(`http://127.0.0.1:${port}`, key);
    await until(
      'it is asked to wake',
      async () => (await see.deployment('orphan')).metadata.annotations?.[WAKE] !== undefined,
    );
    await first.kill();
    stage.endWith(endable(operatorProcess({ kube, namespace, kubeconfig, identity: 'next', env })));
    await until('both kinds of pods start', async () =>
      (await sizes('orphan-00001')).every((size) => size === 1),
    );
    const agent = await startAgentDouble();
    expect(await asking).toEqual({ answered: 200, sentBack: 0, broken: 0 });
    agent.closeAllConnections();
    agent.close();
  });

  test('the gateway, when it is told to end: each is told to come back', async () => {
    const { see } = stage;
    const key = Buffer.from(
      (await see.secret('owned-key')).data?.['api-key'] ?? '',
      'base64',
    ).toString('utf8');
    expect(key).not.toBe('');
    const port = (
      await until('it may sleep', async () => {
        const found = await see.deployment('owned');
        return found.status?.gatewayPort !== undefined && found;
      })
    ).status?.gatewayPort;
    const asking = askTwoHundred(`http://127.0.0.1:${port}`, key);
    await until('all are held', async () => (await heldNow()) === 200);
    ending.abort();
    expect(await asking).toEqual({ answered: 0, sentBack: 200, broken: 0 });
  });
});
