import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';
import { newDeployment } from '../kit/objects.ts';
import { look, type RunningOperator } from '../kit/operator.ts';
import { verdicts } from '../kit/verdict.ts';

/*
 * The states of one deployment's life, as the operator reports them on a real API server, and what kstatus and Argo CD
 * make of each.
 */
const BUILD = 600_000;
let kube: Kube;
let namespace: string;
let operator: RunningOperator | undefined;
let see: ReturnType<typeof look>;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage('verdict');
  ({ kube, namespace, see } = stage);
  await verdicts([]);
}, BUILD);
afterAll(() => stage.stop());

const NAME = 'chat';
const change = (path: string, value: unknown): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name: NAME }, [{ op: 'add', path, value }]);
const changeImage = (image: string): Promise<object> =>
  change('/spec/template/sourceRevisionConfig/imageUri', image);

const judged = async (revision?: string): Promise<string[]> => {
  const objects =
    revision === undefined
      ? [await see.deployment(NAME)]
      : [await see.deployment(NAME), await see.revision(revision)];
  return (await verdicts(objects)).map(({ status, health }) => `${status} ${health}`);
};
const ready = async (): Promise<string> => {
  const { metadata, status } = await see.deployment(NAME);
  const found = status?.conditions?.find(({ type }) => type === 'Ready');
  return found?.observedGeneration === metadata.generation
    ? `${found?.status} ${found?.reason}`
    : '';
};
const untilReadyIs = (said: string): Promise<true> =>
  until(`Ready is ${said}`, async () => (await ready()) === said);

test('just created, and nobody has looked at it: in progress', async () => {
  await kube.create(kinds.deployment, newDeployment(namespace));
  expect((await see.deployment(NAME)).status).toEqual({ observedGeneration: -1 });
  expect(await judged()).toEqual(['InProgress Progressing']);
});

test('waiting for its database: in progress, and so is its revision', async () => {
  operator = await stage.startOperator();
  await untilReadyIs('False DatabaseNotReady');
  await until(
    'the revision was looked at',
    async () => (await see.revision('chat-00001')).status?.phase === 'AWAITING_DEPLOY',
  );
  expect(await judged('chat-00001')).toEqual(['InProgress Progressing', 'InProgress Progressing']);
});

test('serving: current and healthy', async () => {
  stage.startKubelet();
  await untilReadyIs('True Serving');
  await see.untilPhase('chat-00001', 'DEPLOYED');
  expect(await judged('chat-00001')).toEqual(['Current Healthy', 'Current Healthy']);
});

test('changed, and the operator has not looked: in progress at once, not current by the old status', async () => {
  await operator?.stop();
  await changeImage('crash:2');
  expect(await judged()).toEqual(['InProgress Progressing']);
  operator = await stage.startOperator();
});

test('its newest revision failed: failed and degraded, though the former one serves', async () => {
  await untilReadyIs('False CrashLooping');
  expect(await judged('chat-00002')).toEqual(['Failed Degraded', 'Failed Degraded']);
  const [{ message } = { message: '' }] = await verdicts([await see.deployment(NAME)]);
  expect(message).toContain('ends with exit code 1');
  expect((await verdicts([await see.revision('chat-00001')]))[0]).toMatchObject({
    status: 'Current',
    health: 'Healthy',
  });
});

test('mended: current again', async () => {
  await changeImage('agent:3');
  await untilReadyIs('True Serving');
  expect(await judged('chat-00003')).toEqual(['Current Healthy', 'Current Healthy']);
});

test('hibernating: current for who waits, suspended for who looks', async () => {
  await change('/spec/hibernate', true);
  await untilReadyIs('True Hibernated');
  expect(await judged()).toEqual(['Current Suspended']);
  await change('/spec/hibernate', false);
  await untilReadyIs('True Serving');
});

test('suspended: as it was for who waits, suspended for who looks; resumed, the change made meanwhile is made true', async () => {
  await change('/spec/suspend', true);
  await until('it says so', async () =>
    JSON.stringify((await see.deployment(NAME)).status).includes('"Suspended"'),
  );
  expect(await judged()).toEqual(['Current Suspended']);
  await changeImage('agent:4');
  const { metadata } = await see.deployment(NAME);
  await until(
    'its generation is seen',
    async () => (await see.deployment(NAME)).status?.observedGeneration === metadata.generation,
  );
  expect((await see.deployment(NAME)).status?.latestRevision).toBe('chat-00003');
  await change('/spec/suspend', false);
  await untilReadyIs('True Serving');
  expect((await see.deployment(NAME)).status).not.toMatchObject({
    conditions: expect.arrayContaining([{ type: 'Suspended' }]),
  });
  expect((await see.deployment(NAME)).status?.latestRevision).toMatch(/^chat-0000[5-9]|^chat-0001/);
});

test('asked to reconcile now: the value is echoed, and it stays current', async () => {
  await kube.patchJson(kinds.deployment, { namespace, name: NAME }, [
    {
      op: 'add',
      path: '/metadata/annotations',
      value: { 'gx.dev/reconcile-requested-at': 'noon' },
    },
  ]);
  await until(
    'it is echoed',
    async () => (await see.deployment(NAME)).status?.lastHandledReconcileAt === 'noon',
  );
  expect(await judged()).toEqual(['Current Healthy']);
});

test('refused by the cluster: failed', async () => {
  await change('/spec/template/resourceSpec', {
    volumeMounts: [{ name: 'not-there', mountPath: '/data' }],
  });
  await untilReadyIs('False Refused');
  expect(await judged()).toEqual(['Failed Degraded']);
});

test('kinds without a status are current once they exist', async () => {
  const projects = await kube.listAll(kinds.tracingProject, { namespace });
  expect((await verdicts(projects)).map(({ status }) => status)).toEqual(['Current']);
});

test('being deleted: terminating', async () => {
  const { metadata } = await see.deployment(NAME);
  await change('/metadata/finalizers', [...(metadata.finalizers ?? []), 'example.com/theirs']);
  await kube.delete(kinds.deployment, { namespace, name: NAME });
  expect((await verdicts([await see.deployment(NAME)]))[0]?.status).toBe('Terminating');
  await until(
    'only their finalizer is left',
    async () => (await see.deployment(NAME)).metadata.finalizers?.join() === 'example.com/theirs',
  );
  await change('/metadata/finalizers', []);
});
