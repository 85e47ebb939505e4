import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Gateway } from '../../src/gateway/start.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { RELEASE } from '../../src/schema/platform/objects/labels.ts';
import type { RolloutPlan } from '../../src/schema/wire/rollout-plan.ts';
import {
  buildWorkPath,
  type PinnedWork,
  type WorkReport,
} from '../../src/schema/wire/work-report.ts';
import { newDeployment } from '../kit/objects.ts';
import { gatewayOf } from '../kit/gateway-of-stage.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/* A replaced revision keeps the work that is pinned to it, and its queue pods follow that. */

let stage: Stage;
let gateway: Gateway;

beforeAll(async () => {
  stage = await openStage('draining');
  stage.startKubelet();
  gateway = await gatewayOf(stage);
  await stage.startOperator({
    gateways: () => [`http://127.0.0.1:${gateway.reportsPort}`],
    settings: {
      gateway: { service: 'gateway', namespace: stage.namespace },
      queueScaleDownSeconds: 1,
      revisionHistoryLimit: 1,
    },
  });
});
afterAll(() => stage.stop());

const QUIET = { due: 0, running: 0, webhooks: 0, next_due: null };
const NONE = { due: 0, running: 0, later: 0, waiting: 0, next_due: null };

/** Reports as an api pod does, and returns the plan that it hears. */
async function report(name: string, pinned?: PinnedWork[]): Promise<RolloutPlan | undefined> {
  const body: WorkReport = {
    from: 'api',
    slots: 0,
    idle_seconds: 0,
    queue: { ...QUIET, ...(pinned && { pinned }) },
  };
  const key = Buffer.from(
    (await stage.see.secret(`${name}-key`)).data?.['api-key'] ?? '',
    'base64',
  ).toString('utf8');
  const answer = await until('the report is taken', async () => {
    const sent = await fetch(
      `http://127.0.0.1:${gateway.port}${buildWorkPath(stage.namespace, name)}`,
      {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      },
    );
    return sent.status === 200 && sent;
  });
  return ((await answer.json()) as { rollout?: RolloutPlan }).rollout;
}

async function deploy(
  name: string,
  rollout: NonNullable<DeploymentResource['spec']['rollout']> = {},
): Promise<void> {
  const template = {
    sourceRevisionConfig: { imageUri: 'agent:1' },
    resourceSpec: { queueMinScale: 1, queueMaxScale: 4 },
  };
  await stage.kube.create(
    kinds.deployment,
    newDeployment(stage.namespace, { metadata: { name }, template, spec: { rollout } }),
  );
  await stage.see.untilReady(name);
}

/** Asks for another image, and waits until the revision that this makes serves. Returns its name. */
async function replace(name: string, image: string): Promise<string> {
  const ref = { namespace: stage.namespace, name };
  const former = (await stage.see.deployment(name)).status?.activeRevision;
  const path = '/spec/template/sourceRevisionConfig/imageUri';
  await stage.kube.patchJson(kinds.deployment, ref, [{ op: 'replace', path, value: image }]);
  return until('the next revision serves', async () => {
    const active = (await stage.see.deployment(name)).status?.activeRevision;
    return active !== former && active;
  });
}

const podsOf = async (workload: string): Promise<number | undefined> =>
  ((await stage.see.workload(workload)).spec as { replicas?: number }).replicas;
const untilPods = (workload: string, replicas: number, seconds?: number): Promise<true> =>
  until(
    `${workload} has ${replicas} pods`,
    async () => (await podsOf(workload)) === replicas,
    seconds,
  );
const rolloutOf = async (name: string) => (await stage.see.deployment(name)).status?.rollout;

async function pinIn(workload: string): Promise<string | undefined> {
  const { spec } = await stage.see.workload(workload);
  const { containers } = (
    spec as { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } }
  ).template.spec;
  return containers[0]?.env.find(({ name }) => name === 'GX_PIN')?.value;
}

test('a replaced revision has queue pods while it has runs, none while threads wait, and again when one is answered', async () => {
  const [name, first] = ['kept', 'kept-00001'];
  await deploy(name);
  expect(await pinIn(`${first}-queue`)).toBe('Run');
  const second = await replace(name, 'agent:2');
  expect(await rolloutOf(name)).toMatchObject({
    current: second,
    living: [first, second],
    draining: [{ revision: first }],
  });
  await untilPods(`${first}-api`, 0);
  expect(await podsOf(`${first}-queue`)).toBe(1);
  await until('the gateway tells the plan', async () => (await report(name))?.current === second);
  expect(await report(name)).toMatchObject({
    current: second,
    living: [first, second],
    draining: [first],
  });
  await report(name, [{ ...NONE, revision: first, due: 15, running: 10, waiting: 3 }]);
  await untilPods(`${first}-queue`, 3);
  await report(name, [{ ...NONE, revision: first, waiting: 3 }]);
  await untilPods(`${first}-queue`, 0);
  const [revision, deployment] = [
    await stage.see.revision(first),
    await stage.see.deployment(name),
  ];
  expect(revision.status?.phase).toBe('DEPLOYED');
  expect(revision.status?.conditions?.find(({ type }) => type === 'Draining')).toMatchObject({
    status: 'True',
    reason: 'PinnedWork',
  });
  expect(deployment.status?.conditions?.find(({ type }) => type === 'Draining')).toMatchObject({
    status: 'True',
  });
  expect(await podsOf(`${second}-queue`)).toBe(1);
  const at = performance.now();
  await report(name, [{ ...NONE, revision: first, due: 1, waiting: 2 }]);
  await untilPods(`${first}-queue`, 1);
  expect(performance.now() - at).toBeLessThan(3000);
  // One more revision, and the history of one: the first would be gone if it kept nothing.
  await replace(name, 'agent:3');
  await replace(name, 'agent:4');
  expect((await rolloutOf(name))?.draining.map((each) => each.revision)).toContain(first);
  await stage.see.revision(first);
  await stage.kube.patchJson(kinds.revision, { namespace: stage.namespace, name: first }, [
    { op: 'add', path: '/metadata/annotations', value: { [RELEASE]: 'now' } },
  ]);
  await until('its work was let go', async () => !(await rolloutOf(name))?.living.includes(first));
  const { status } = await stage.see.deployment(name);
  const moved = status?.conditions?.find(({ type }) => type === 'Draining');
  expect(moved?.message).toContain(
    `1 run and 2 waiting threads of revision ${first} continue on ${status?.activeRevision}`,
  );
});

test('work goes on with the revision that serves after pinSeconds', async () => {
  const [name, first] = ['brief', 'brief-00001'];
  await deploy(name, { pinSeconds: 10 });
  const second = await replace(name, 'agent:2');
  await until('its time is over', async () => {
    await report(name, [{ ...NONE, revision: first, waiting: 3 }]);
    return (await rolloutOf(name))?.draining.length === 0;
  });
  expect(await rolloutOf(name)).toMatchObject({ current: second, living: [second] });
  await untilPods(`${first}-queue`, 0);
  expect(
    (await stage.see.deployment(name)).status?.conditions?.find(({ type }) => type === 'Draining'),
  ).toMatchObject({
    status: 'False',
    reason: 'PinExpired',
  });
});

test('the work of the oldest goes on first where more revisions than maxDraining would keep some', async () => {
  const [name, first] = ['few', 'few-00001'];
  await deploy(name, { maxDraining: 1 });
  const second = await replace(name, 'agent:2');
  expect((await rolloutOf(name))?.draining).toMatchObject([{ revision: first }]);
  const third = await replace(name, 'agent:3');
  expect(await rolloutOf(name)).toMatchObject({
    current: third,
    living: [second, third],
    draining: [{ revision: second }],
  });
  await until('an event tells it', async () => {
    const events = (await stage.kube.listAll(kinds.event, { namespace: stage.namespace })) as {
      reason?: string;
      note?: string;
    }[];
    return events.some(
      ({ reason, note = '' }) => reason === 'TooManyDraining' && note.includes(first),
    );
  });
});

test('nothing is kept where nothing is pinned', async () => {
  const [name, first] = ['free', 'free-00001'];
  await deploy(name, { pin: 'None' });
  expect(await pinIn(`${first}-queue`)).toBeUndefined();
  const second = await replace(name, 'agent:2');
  expect(await rolloutOf(name)).toMatchObject({ current: second, living: [second], draining: [] });
  await untilPods(`${first}-queue`, 0);
});
