import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Gateway } from '../../src/gateway/start.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import type { RunStatus } from '../../src/schema/agent/run.ts';
import { ROLLOUT } from '../../src/schema/platform/objects/labels.ts';
import type { RunCounts } from '../../src/schema/wire/run-counts.ts';
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

/* A new revision gets a share of the new threads before it serves. */

let stage: Stage;
let gateway: Gateway;

beforeAll(async () => {
  stage = await openStage('shares');
  stage.startKubelet();
  gateway = await gatewayOf(stage);
  await stage.startOperator({
    gateways: () => [`http://127.0.0.1:${gateway.reportsPort}`],
    settings: {
      gateway: { service: 'gateway', namespace: stage.namespace },
      queueScaleDownSeconds: 1,
    },
  });
});
afterAll(() => stage.stop());

const NONE = { due: 0, running: 0, later: 0, waiting: 0, next_due: null };

/** Reports as an api pod does, and returns the plan that it hears. */
async function report(name: string, pinned: PinnedWork[] = []): Promise<RolloutPlan | undefined> {
  const queue = { due: 0, running: 0, webhooks: 0, next_due: null, pinned };
  return sent(name, { from: 'api', slots: 0, idle_seconds: 0, queue });
}

async function sent(name: string, body: WorkReport): Promise<RolloutPlan | undefined> {
  const key = Buffer.from(
    (await stage.see.secret(`${name}-key`)).data?.['api-key'] ?? '',
    'base64',
  ).toString('utf8');
  const answer = await fetch(
    `http://127.0.0.1:${gateway.port}${buildWorkPath(stage.namespace, name)}`,
    {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    },
  );
  return answer.status === 200
    ? ((await answer.json()) as { rollout?: RolloutPlan }).rollout
    : undefined;
}

type Counted = Pick<RunCounts, 'done' | 'errors'>;

/** Reports as a worker does that has executed so many runs of each revision. */
async function counted(name: string, runs: Record<string, Counted>): Promise<void> {
  const ended = Object.entries(runs).map(([revision, counts]) => ({
    revision,
    ...counts,
    lost: 0,
    durations: [],
    ages: [],
  }));
  await sent(name, { from: 'worker', slots: 10, idle_seconds: 0, ended });
}

type Rollout = NonNullable<DeploymentResource['spec']['rollout']>;
async function deploy(name: string, rollout: Rollout): Promise<string> {
  const template = {
    sourceRevisionConfig: { imageUri: 'agent:1' },
    resourceSpec: { queueMinScale: 1, queueMaxScale: 4 },
  };
  await stage.kube.create(
    kinds.deployment,
    newDeployment(stage.namespace, { metadata: { name }, template, spec: { rollout } }),
  );
  await stage.see.untilReady(name);
  return `${name}-00001`;
}

/** Asks for another image. Returns the name of the revision that this makes. */
async function ask(name: string, image: string): Promise<string> {
  const former = (await stage.see.deployment(name)).status?.latestRevision;
  const path = '/spec/template/sourceRevisionConfig/imageUri';
  await stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name }, [
    { op: 'replace', path, value: image },
  ]);
  return until('the revision is made', async () => {
    const latest = (await stage.see.deployment(name)).status?.latestRevision;
    return latest !== former && latest;
  });
}

const candidateOf = async (name: string) =>
  (await stage.see.deployment(name)).status?.rollout?.candidate;
const untilShare = (name: string, revision: string, share: number): Promise<true> =>
  until(`${revision} has ${share} %`, async () => {
    const candidate = await candidateOf(name);
    return candidate?.revision === revision && candidate.share === share;
  });
const move = (revision: string, value: string): Promise<unknown> =>
  stage.kube.patchJson(kinds.revision, { namespace: stage.namespace, name: revision }, [
    { op: 'add', path: '/metadata/annotations', value: { [ROLLOUT]: value } },
  ]);
const servedBy = async (service: string): Promise<string | undefined> => {
  const found = await stage.kube.find(kinds.service, { namespace: stage.namespace, name: service });
  return (found?.spec as { selector?: Record<string, string> } | undefined)?.selector?.[
    'gx.dev/revision'
  ];
};
const podsOf = async (workload: string): Promise<number | undefined> =>
  ((await stage.see.workload(workload)).spec as { replicas?: number }).replicas;

test('a new revision goes through its steps, waits where somebody has to go on, and serves after the last one', async () => {
  const name = 'steps';
  const steps = [
    { share: 10, seconds: 2 },
    { share: 50, pause: true },
    { share: 90, seconds: 1 },
  ];
  const first = await deploy(name, { steps });
  const second = await ask(name, 'agent:2');
  await untilShare(name, second, 10);
  expect([await servedBy(`${name}-agent`), await servedBy(`${name}-candidate`)]).toEqual([
    first,
    second,
  ]);
  expect((await stage.see.revision(second)).status).toMatchObject({ phase: 'DEPLOYING' });
  await untilShare(name, second, 50);
  const heard = await until('agents hear of it', async () => {
    const plan = await report(name);
    return plan?.candidate?.share === 50 && plan;
  });
  expect(heard).toMatchObject({
    current: first,
    living: [first, second],
    draining: [],
    candidate: { revision: second, by: 'thread' },
  });
  await report(name, [{ ...NONE, revision: second, due: 25 }]);
  await until(
    'its queue pods follow its work',
    async () => (await podsOf(`${second}-queue`)) === 3,
  );
  expect((await stage.see.deployment(name)).status?.activeRevision).toBe(first);
  expect(await servedBy(`${name}-agent`)).toBe(first);
  await move(second, 'share=80');
  await untilShare(name, second, 80);
  expect(await servedBy(`${name}-agent`)).toBe(first);
  await move(second, 'promote');
  await until(
    'it serves',
    async () => (await stage.see.deployment(name)).status?.activeRevision === second,
  );
  await stage.see.untilReady(name);
  expect(await servedBy(`${name}-agent`)).toBe(second);
  await until(
    'nothing is tried out any more',
    async () => (await servedBy(`${name}-candidate`)) === undefined,
  );
  const { status } = await stage.see.deployment(name);
  expect(status?.rollout).toMatchObject({
    current: second,
    living: [first, second],
    draining: [{ revision: first }],
  });
  expect(status?.rollout?.candidate).toBeUndefined();
  expect((await stage.see.revision(second)).status?.phase).toBe('DEPLOYED');
});

test('a revision that is given up gets nothing more, finishes its work, and leaves the other one as it was', async () => {
  const name = 'abort';
  const first = await deploy(name, { steps: [{ share: 20, pause: true }] });
  const second = await ask(name, 'agent:2');
  await untilShare(name, second, 20);
  const api = await stage.see.workload(`${first}-api`);
  const at = performance.now();
  await move(second, 'abort');
  const heard = await until('agents hear of it', async () => {
    const plan = await report(name, [{ ...NONE, revision: second, running: 1 }]);
    return plan?.aborted?.includes(second) === true && plan;
  });
  expect(performance.now() - at).toBeLessThan(5000);
  expect(heard.candidate).toBeUndefined();
  expect(heard).toMatchObject({ current: first, living: [first, second], draining: [second] });
  await stage.see.untilPhase(second, 'DEPLOY_FAILED');
  expect((await stage.see.revision(second)).status).toMatchObject({
    reason: 'RolloutAborted',
    message: expect.stringContaining('Someone'),
  });
  await until('its api pods stop', async () => (await podsOf(`${second}-api`)) === 0);
  expect(await podsOf(`${second}-queue`)).toBe(1);
  await report(name, [{ ...NONE, revision: second }]);
  await until('its queue pods stop', async () => (await podsOf(`${second}-queue`)) === 0);
  expect((await stage.see.workload(`${first}-api`)).metadata.generation).toBe(
    api.metadata.generation,
  );
  expect(await servedBy(`${name}-agent`)).toBe(first);
});

const CHECKED: Rollout = {
  steps: [{ share: 20, seconds: 1 }],
  checks: [{ figure: 'errors', worseBy: 5, least: 40, failures: 1 }],
  checkSeconds: 1,
};

test('a revision that fails more runs than the one that serves is given up, and everybody hears why', async () => {
  const name = 'worse';
  const first = await deploy(name, CHECKED);
  const second = await ask(name, 'agent:2');
  await untilShare(name, second, 20);
  await counted(name, { [first]: { done: 100, errors: 1 }, [second]: { done: 0, errors: 0 } });
  await until(
    'it waits for runs',
    async () =>
      (await candidateOf(name))?.verdict === 'The check of errors needs 40 runs of each revision.',
  );
  const at = performance.now();
  await counted(name, { [first]: { done: 300, errors: 3 }, [second]: { done: 50, errors: 10 } });
  const heard = await until('agents hear of it', async () => {
    const plan = await report(name, [{ ...NONE, revision: second }]);
    return plan?.aborted?.includes(second) === true && plan;
  });
  expect(performance.now() - at).toBeLessThan(5000);
  expect(heard.candidate).toBeUndefined();
  await stage.see.untilPhase(second, 'DEPLOY_FAILED');
  const message = 'A check failed: errors: 20.0 % of 50 runs, and 1.0 % of 200 of the other.';
  expect((await stage.see.revision(second)).status).toMatchObject({
    reason: 'RolloutAborted',
    message: expect.stringContaining(message),
  });
  expect((await stage.see.deployment(name)).status).toMatchObject({
    activeRevision: first,
    rollout: { aborted: { revision: second, message } },
  });
});

test('a revision that is as good as the one that serves takes its place', async () => {
  const name = 'equal';
  const first = await deploy(name, CHECKED);
  const second = await ask(name, 'agent:2');
  await untilShare(name, second, 20);
  await counted(name, { [first]: { done: 0, errors: 0 }, [second]: { done: 0, errors: 0 } });
  await until(
    'it waits for runs',
    async () => (await candidateOf(name))?.verdict?.includes('needs 40 runs') === true,
  );
  await counted(name, { [first]: { done: 200, errors: 4 }, [second]: { done: 50, errors: 1 } });
  await until(
    'it serves',
    async () => (await stage.see.deployment(name)).status?.activeRevision === second,
  );
  expect((await stage.see.revision(second)).status?.phase).toBe('DEPLOYED');
});

test('a revision gets its first share when its gate has said yes, and is given up when it has said no', async () => {
  const name = 'gate';
  const input = { messages: ['hello'] };
  const first = await deploy(name, {
    steps: [{ share: 20, pause: true }],
    gate: { assistant: 'echo', input: JSON.stringify(input) },
  });
  const asked = (revision: string) =>
    until('agents hear of the gate', async () => {
      const candidate = (await report(name))?.candidate;
      return candidate?.revision === revision && candidate.gate;
    });
  const said = (id: string, status: RunStatus) =>
    sent(name, {
      from: 'api',
      slots: 0,
      idle_seconds: 0,
      gate: { id, status, message: 'run 7 of thread 8' },
    });

  const second = await ask(name, 'agent:2');
  const gate = await asked(second);
  expect(gate).toMatchObject({ assistant: 'echo', input });
  expect((await candidateOf(name))?.share).toBe(0);
  await said(gate.id, 'running');
  await said(gate.id, 'error');
  await stage.see.untilPhase(second, 'DEPLOY_FAILED');
  const message = 'The gate failed: error, run 7 of thread 8.';
  expect((await stage.see.revision(second)).status).toMatchObject({
    reason: 'RolloutAborted',
    message: expect.stringContaining(message),
  });

  const third = await ask(name, 'agent:3');
  await said((await asked(third)).id, 'success');
  await untilShare(name, third, 20);
  expect((await report(name))?.candidate).toEqual({ revision: third, share: 20, by: 'thread' });
  expect(await servedBy(`${name}-agent`)).toBe(first);
});

test('a rollback to the revision that served within the last hour serves as soon as its pods are ready', async () => {
  const name = 'back';
  const first = await deploy(name, { steps: [{ share: 30, pause: true }] });
  const second = await ask(name, 'agent:2');
  await untilShare(name, second, 30);
  await move(second, 'promote');
  await until(
    'it serves',
    async () => (await stage.see.deployment(name)).status?.activeRevision === second,
  );
  await stage.see.untilReady(name);
  await stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name }, [
    { op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: 'agent:1' },
    { op: 'add', path: '/spec/rollbackOf', value: first },
  ]);
  // A step would wait for somebody.
  await until(
    'it serves',
    async () =>
      ![first, second, undefined].includes(
        (await stage.see.deployment(name)).status?.activeRevision,
      ),
  );
  expect(await candidateOf(name)).toBeUndefined();
});

test('a newer revision takes the place of the one that is tried out', async () => {
  const name = 'newer';
  const first = await deploy(name, { steps: [{ share: 30, pause: true }] });
  const second = await ask(name, 'agent:2');
  await untilShare(name, second, 30);
  const third = await ask(name, 'agent:3');
  await untilShare(name, third, 30);
  expect((await stage.see.revision(second)).status).toMatchObject({
    phase: 'DEPLOY_FAILED',
    reason: 'RolloutAborted',
  });
  expect(await servedBy(`${name}-agent`)).toBe(first);
});

test('a check by a query waits where the installation names no server, and says so', async () => {
  const name = 'unanswered';
  const query = 'sum(cost{revision="{revision}"})';
  await deploy(name, { steps: [{ share: 20, seconds: 1 }], checks: [{ query, worseBy: 50 }] });
  const second = await ask(name, 'agent:2');
  await untilShare(name, second, 20);
  await counted(name, {});
  await expect
    .poll(async () => (await candidateOf(name))?.verdict)
    .toContain('settings.prometheus.url');
  await move(second, 'promote');
  await until(
    'somebody goes on without it',
    async () => (await stage.see.deployment(name)).status?.activeRevision === second,
  );
});
