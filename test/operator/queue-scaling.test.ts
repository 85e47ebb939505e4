import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureTools } from '../../dev/cluster/parts.ts';
import type { Gateway } from '../../src/gateway/start.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { buildWorkPath, type WorkReport } from '../../src/schema/wire/work-report.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { newDeployment } from '../kit/objects.ts';
import { gatewayOf } from '../kit/gateway-of-stage.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/* Agents report their work to the gateway, and the operator has as many queue pods as it asks for. */

let stage: Stage;
/** Two replicas of the gateway; each report reaches one of them. */
let gateways: Gateway[];

beforeAll(async () => {
  stage = await openStage('queue-scaling');
  stage.startKubelet();
  gateways = await Promise.all([1, 2].map(() => gatewayOf(stage)));
  await stage.startOperator({
    gateways: () => gateways.map(({ reportsPort }) => `http://127.0.0.1:${reportsPort}`),
    settings: {
      gateway: { service: 'gateway', namespace: stage.namespace },
      queueScaleDownSeconds: 3,
    },
  });
});
afterAll(() => stage.stop());

const deploy = async (
  name: string,
  given: Parameters<typeof newDeployment>[1] = {},
): Promise<string> => {
  const { kube, namespace, see } = stage;
  const template = {
    sourceRevisionConfig: { imageUri: 'agent:1' },
    resourceSpec: { queueMinScale: 1, queueMaxScale: 4 },
  };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name }, template, ...given }),
  );
  await see.untilReady(name);
  return Buffer.from((await see.secret(`${name}-key`)).data?.['api-key'] ?? '', 'base64').toString(
    'utf8',
  );
};

const QUIET: WorkReport = {
  from: 'api',
  slots: 0,
  idle_seconds: 0,
  queue: { due: 0, running: 0, webhooks: 0, next_due: null },
};

const send = (name: string, key: string, report: WorkReport, replica = 0): Promise<Response> =>
  fetch(`http://127.0.0.1:${gateways[replica]?.port}${buildWorkPath(stage.namespace, name)}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(report),
  });

/** Reports until the gateway, which may not know the deployment yet, takes it. */
const report = (
  name: string,
  key: string,
  queue: Partial<NonNullable<WorkReport['queue']>>,
  replica = 0,
): Promise<true> =>
  until('the report is taken', async () => {
    const body = { ...QUIET, queue: { ...QUIET.queue!, ...queue } };
    return (await send(name, key, body, replica)).status === 200;
  });

const queueOf = async (name: string): Promise<number | undefined> =>
  ((await stage.see.workload(`${name}-00001-queue`)).spec as { replicas?: number }).replicas;
const untilQueue = (name: string, replicas: number): Promise<true> =>
  until(`${name} has ${replicas} queue pods`, async () => (await queueOf(name)) === replicas);
const conditionOf = ({ status }: DeploymentResource) =>
  status?.conditions?.find(({ type }) => type === 'QueueScaled');

describe('a deployment with a range', () => {
  let key: string;
  beforeAll(async () => {
    key = await deploy('ranged');
  });

  test('its pods learn where to report, and with which key', async () => {
    const { spec } = await stage.see.workload('ranged-00001-api');
    const { containers } = (
      spec as { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } }
    ).template.spec;
    const value = (name: string): string | undefined =>
      containers[0]?.env.find((one) => one.name === name)?.value;
    expect(value('GX_REPORT_URL')).toBe(
      `http://gateway.${stage.namespace}.svc.cluster.local${buildWorkPath(stage.namespace, 'ranged')}`,
    );
    expect(value('GX_REPORT_KEY_FOLDER')).toBe('/etc/gx-key');
  });

  test('goes up with a backlog that one replica of the gateway has heard of, and down when it is over', async () => {
    const { see } = stage;
    expect(await queueOf('ranged')).toBe(1);
    await report('ranged', key, { due: 25 }, 1);
    await untilQueue('ranged', 3);
    const up = await until('the pods are ready', async () => {
      const found = await see.deployment('ranged');
      return found.status?.queueReady === 3 && found;
    });
    expect(up.status).toMatchObject({ queueReplicas: 3, phase: 'READY' });
    expect(conditionOf(up)).toMatchObject({
      status: 'True',
      reason: 'Backlog',
      message: expect.stringContaining('25 runs were due') as string,
    });
    await report('ranged', key, { running: 2 }, 0);
    await untilQueue('ranged', 1);
    const down = await until('it is told', async () => {
      const found = await see.deployment('ranged');
      return found.status?.queueReady === 1 && found;
    });
    expect(conditionOf(down)).toMatchObject({ status: 'True', reason: 'Quiet' });
  });

  test('its status says how many threads wait for people, and goes on saying it while nothing is reported', async () => {
    const said = async (): Promise<number | undefined> =>
      (await stage.see.deployment('ranged')).status?.interruptedThreads;
    await report('ranged', key, { running: 2, interrupted: 3 });
    await until('three wait', async () => (await said()) === 3);
    await report('ranged', key, { running: 2 });
    await until(
      'two reports are read',
      async () => (await stage.see.deployment('ranged')).status?.queueReady === 1,
    );
    expect(await said()).toBe(3);
    await report('ranged', key, { running: 2, interrupted: 0 });
    await until('none waits', async () => (await said()) === 0, 30);
  });

  test('its status has the usage of models that it reports, and kubectl shows what it costs today', async () => {
    const day = new Date().toISOString().slice(0, 10);
    const sums = { calls: 3, unreported: 1, unpriced: 1, input: 90, cache_read: 30, output: 12 };
    const today = { day, ...sums, cost_nano: 41_500_000 };
    await report('ranged', key, { usage: [today] });
    const said = await until('the usage is in the status', async () => {
      const { status } = await stage.see.deployment('ranged');
      return status?.usageToday?.day === day && status;
    });
    expect(said.usageToday).toEqual({
      day,
      calls: 3,
      unreportedCalls: 1,
      unpricedCalls: 1,
      inputTokens: 90,
      cacheReadTokens: 30,
      outputTokens: 12,
      costUsd: '0.0415',
    });
    // Statuses are written seldom, and the sums of a day may be forged.
    const most = Number.MAX_SAFE_INTEGER;
    await report('ranged', key, {
      usage: [{ ...today, calls: most, input: most, output: most, cost_nano: most }],
    });
    const refused = await send('ranged', key, {
      ...QUIET,
      queue: { ...QUIET.queue!, usage: [{ ...today, calls: -1 }] },
    });
    expect(refused.status).toBe(422);
  });

  test('an event tells of each direction', async () => {
    const { kube, namespace } = stage;
    const reasons = await until('both are told', async () => {
      const events = (await kube.listAll(kinds.event, { namespace })) as {
        reason?: string;
        regarding?: { name?: string };
      }[];
      const found = events
        .filter(({ regarding }) => regarding?.name === 'ranged')
        .map(({ reason }) => reason);
      return found.includes('Backlog') && found.includes('Quiet') && found;
    });
    expect(reasons).toContain('Quiet');
  });

  test('a size that somebody sets on the workload itself is put back', async () => {
    const { kube, namespace } = stage;
    const patch = [{ op: 'replace' as const, path: '/spec/replicas', value: 4 }];
    await kube.patchJson(kinds.workload, { namespace, name: 'ranged-00001-queue' }, patch);
    expect(await untilQueue('ranged', 1)).toBe(true);
  });

  test('another revision keeps the size', async () => {
    const { kube, namespace, see } = stage;
    await report('ranged', key, { due: 40 });
    await untilQueue('ranged', 4);
    const patch = [
      {
        op: 'replace' as const,
        path: '/spec/template/sourceRevisionConfig/imageUri',
        value: 'agent:2',
      },
    ];
    await kube.patchJson(kinds.deployment, { namespace, name: 'ranged' }, patch);
    await until(
      'the next revision serves',
      async () => (await see.deployment('ranged')).status?.activeRevision !== 'ranged-00001',
    );
    const { status } = await see.deployment('ranged');
    const kept = await until('it has four queue pods', async () => {
      await report('ranged', key, { due: 40 });
      return (
        ((await see.workload(`${status?.activeRevision}-queue`)).spec as { replicas?: number })
          .replicas === 4
      );
    });
    expect(kept).toBe(true);
  });
});

test('a deployment whose database somebody else runs follows its work as well', async () => {
  const { kube, namespace, see } = stage;
  const uri = Buffer.from('postgresql://agent:secret@postgres.example:5432/agent').toString(
    'base64',
  );
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name: 'elsewhere-secrets' },
    data: { POSTGRES_URI_CUSTOM: uri },
  });
  const template = {
    sourceRevisionConfig: { imageUri: 'agent:1' },
    resourceSpec: { queueMinScale: 1, queueMaxScale: 4 },
    secretName: 'elsewhere-secrets',
  };
  const key = await deploy('elsewhere', { spec: { database: { fromSecrets: true } }, template });
  expect(await kube.find(kinds.statefulSet, { namespace, name: 'elsewhere-db' })).toBeUndefined();
  await report('elsewhere', key, { due: 25 });
  await untilQueue('elsewhere', 3);
  await until(
    'the pods are ready',
    async () => (await see.deployment('elsewhere')).status?.queueReady === 3,
  );
  await report('elsewhere', key, { running: 1 });
  expect(await untilQueue('elsewhere', 1)).toBe(true);
});

describe('without the key of the deployment', () => {
  test.each([
    ['another key', 'fixed', `gxa_${'x'.repeat(43)}`],
    ['no deployment of this name', 'nobody', `gxa_${'x'.repeat(43)}`],
  ])('%s: 401, and nothing is kept', async (_, name, key) => {
    const answer = await send(name, key, QUIET);
    expect([answer.status, await answer.json()]).toEqual([
      401,
      { detail: 'Send a key of this deployment in X-Api-Key.' },
    ]);
  });

  test('the key of one deployment does not report for another', async () => {
    const key = await deploy('fixed', {
      template: { sourceRevisionConfig: { imageUri: 'agent:1' } },
    });
    await deploy('other', { template: { sourceRevisionConfig: { imageUri: 'agent:1' } } });
    await report('fixed', key, {});
    expect((await send('other', key, QUIET)).status).toBe(401);
    const read = await fetch(
      `http://127.0.0.1:${gateways[0]?.port}${buildWorkPath(stage.namespace, 'other')}`,
      {
        headers: { 'x-api-key': key },
      },
    );
    expect(read.status).toBe(401);
  });

  test('a report with another form is refused by the name of its field', async () => {
    const key = await deploy('formal', {
      template: { sourceRevisionConfig: { imageUri: 'agent:1' } },
    });
    await report('formal', key, {});
    const answer = await send('formal', key, { ...QUIET, slots: -1 });
    expect([answer.status, JSON.stringify(await answer.json())]).toEqual([
      422,
      expect.stringContaining('slots'),
    ]);
  });
});

test('the figures of one deployment can be read with its key, as a scaler does', async () => {
  const key = await deploy('figures');
  await report('figures', key, { due: 31, running: 4 });
  const answer = await fetch(
    `http://127.0.0.1:${gateways[0]?.port}${buildWorkPath(stage.namespace, 'figures')}`,
    {
      headers: { authorization: `Bearer ${key}` },
    },
  );
  expect(await answer.json()).toEqual({
    due: 31,
    running: 4,
    slots: 10,
    workers: 4,
    next_due: null,
  });
});

test('an outsider sets the size by the scale subresource, and the platform leaves it alone', async () => {
  const { namespace, kubeconfig, see } = stage;
  const kubectl = kubectlFor({ kubectl: (await ensureTools(['kubectl'])).kubectl, kubeconfig });
  const key = await deploy('handed', { spec: { queueReplicas: 2 } });
  await untilQueue('handed', 2);
  await report('handed', key, { due: 40 });
  await kubectl('scale', 'gxd/handed', '--replicas=3', '-n', namespace);
  await untilQueue('handed', 3);
  const { status } = await see.deployment('handed');
  expect(conditionOf({ status } as DeploymentResource)).toMatchObject({ reason: 'AskedByOthers' });
  await kubectl('scale', 'gxd/handed', '--replicas=9', '-n', namespace);
  await untilQueue('handed', 4);
});
