import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cache } from '../../../../src/kube/cache.ts';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../../src/kube/kube.ts';
import { Reflector } from '../../../../src/kube/watch.ts';
import type { Condition } from '../../../../src/schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../../../src/schema/platform/resources/custom-resources.ts';
import { names } from '../../../../src/schema/names.ts';
import { conditionOf } from '../../../kit/api-server.ts';
import { openStage, type Stage } from '../../../kit/stage.ts';
import { until } from '../../../kit/until.ts';
import { silentLog } from '../../../kit/log.ts';
import { newDeployment } from '../../../kit/objects.ts';
import { look } from '../../../kit/operator.ts';

/*
 * The test takes the node's place. It reports of the guard's container what a kubelet reports when it ends and
 * restarts.
 */
let kube: Kube;
let namespace: string;
let see: ReturnType<typeof look>;
let reflector: Reflector;
/** Every status that the deployment ever had. */
const seen: DeploymentResource['status'][] = [];

let stage: Stage;
beforeAll(async () => {
  stage = await openStage('fills');
  ({ kube, namespace, see } = stage);
  stage.startKubelet();
  const cache = new Cache();
  cache.addChangeListener(({ after }) => seen.push(after?.status ?? {}));
  const observer = { relisted() {}, missed() {} };
  reflector = new Reflector({
    kube,
    kind: kinds.deployment,
    cache,
    namespace,
    log: silentLog(),
    observer,
  });
  reflector.start();
  await stage.startOperator();
});
afterAll(async () => {
  await reflector.stop();
  await stage.stop();
});

const NAME = 'fills';
const conditions = async (): Promise<Condition[]> =>
  (await see.deployment(NAME)).status?.conditions ?? [];
const reasonOf = async (type: string): Promise<string | undefined> =>
  (await conditions()).find((known) => known.type === type)?.reason;
const databasePod = (): Promise<KubeObject> =>
  kube.get(kinds.pod, { namespace, name: `${names.database(NAME)}-0` });

type Told = { conditions: { type: string }[]; containerStatuses: { name: string }[] };
let restarts = 0;

/** Reports, as a node does, that the pod's guard has ended with these words, and then that it runs again. */
async function guardTells(message: string): Promise<void> {
  const pod = await databasePod();
  const { conditions: known, containerStatuses } = pod.status as Told;
  const ready = (holds: boolean) =>
    known.map((one) =>
      /^(Containers)?Ready$/.test(one.type) ? { ...one, status: holds ? 'True' : 'False' } : one,
    );
  const withGuard = (given: object) =>
    containerStatuses.map((one) => (one.name === 'guard' ? { ...one, ...given } : one));
  const terminated = { reason: 'Completed', exitCode: 0, message };
  const ref = { namespace, name: pod.metadata.name };
  const away = { ready: false, started: false, state: { terminated }, restartCount: restarts };
  await kube.patchStatus(kinds.pod, ref, {
    conditions: ready(false),
    containerStatuses: withGuard(away),
  });
  const set = { namespace, name: names.database(NAME) };
  await until('the set has seen that', async () => {
    const { status } = (await kube.get(kinds.statefulSet, set)) as KubeObject & {
      status: { readyReplicas?: number };
    };
    return (status.readyReplicas ?? 0) === 0;
  });
  restarts += 1;
  const back = {
    ready: true,
    started: true,
    state: { running: {} },
    lastState: { terminated },
    restartCount: restarts,
  };
  await kube.patchStatus(kinds.pod, ref, {
    conditions: ready(true),
    containerStatuses: withGuard(back),
  });
}

type Event = { regarding?: { name: string }; type?: string; reason?: string };
const warnings = async (): Promise<string[]> =>
  ((await kube.listAll(kinds.event, { namespace })) as Event[])
    .filter(({ regarding, type }) => regarding?.name === NAME && type === 'Warning')
    .map(({ reason = '' }) => reason);

test('a volume that fills is told level by level, and the deployment stays ready all the while', async () => {
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: NAME } }));
  await see.untilReady(NAME);
  expect(await reasonOf('VolumeHasRoom')).toBeUndefined();
  const pod = await databasePod();
  await until(
    'the watch is as far',
    () => conditionOf({ status: seen.at(-1) }, 'Ready') === 'True',
  );
  seen.length = 0;
  for (const [level, percent, reason] of [
    ['nearly-full', 81, 'NearlyFull'],
    ['almost-full', 90, 'AlmostFull'],
    ['full', 96, 'Full'],
    ['nearly-full', 80, 'NearlyFull'],
  ] as const) {
    await guardTells(`${level} ${percent * 2 ** 20} ${100 * 2 ** 20}\n`);
    await until(`it is ${reason}`, async () => (await reasonOf('VolumeHasRoom')) === reason);
    const condition = (await conditions()).find(({ type }) => type === 'VolumeHasRoom');
    expect(condition).toMatchObject({
      status: 'False',
      message: expect.stringContaining(`was ${percent} % full`),
    });
    expect(condition?.message).toContain('Raise template.resourceSpec.dbStorageGi');
  }
  await guardTells(`roomy ${40 * 2 ** 20} ${100 * 2 ** 20}\n`);
  await until('it is told no more', async () => (await reasonOf('VolumeHasRoom')) === undefined);
  await until(
    'all of it was seen',
    () => seen.at(-1)?.conditions?.every(({ type }) => type !== 'VolumeHasRoom') === true,
  );
  // The conditions stay True at every moment.
  for (const status of seen)
    expect(
      status?.conditions
        ?.filter(({ type }) => ['Ready', 'DatabaseReady', 'Serving'].includes(type))
        .map((one) => one.status),
    ).toEqual(['True', 'True', 'True']);
  expect((await databasePod()).metadata.uid).toBe(pod.metadata.uid);
  await until('each change was told by an event', async () => (await warnings()).length >= 4);
  expect((await warnings()).toSorted()).toEqual(['AlmostFull', 'Full', 'NearlyFull', 'NearlyFull']);
});
