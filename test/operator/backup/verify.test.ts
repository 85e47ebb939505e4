import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import type {
  VerifyDone,
  VerifyFailure,
  VerifyOrder,
} from '../../../src/schema/wire/restore-message.ts';
import { newDeployment } from '../../kit/objects.ts';
import { metricOf, type look, type RunningOperator } from '../../kit/operator.ts';
import { setStage, type OperatedStage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';

/* Nobody runs the pods: a test reports of them what their containers would. */
const TARGET = {
  endpoint: 'https://s3.example.com',
  bucket: 'ours',
  region: 'eu-1',
  prefix: 'gx',
  pathStyle: true,
  secretName: 'store',
};
const BACKUPS = {
  targets: { main: TARGET },
  atOnce: 2,
  deadlineMinutes: 60,
  verifyDays: 7,
  image: 'silent-platform',
};
let stage: OperatedStage;
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let see: ReturnType<typeof look>;
beforeAll(async () => {
  stage = await setStage('verifications', { settings: { backups: BACKUPS } });
  ({ kube, namespace, operator, see } = stage);
});
afterAll(() => stage.stop());

type Container = {
  name: string;
  args?: string[];
  env: { name: string; value?: string }[];
  resources: { requests: { cpu: string } };
};
type Pod = KubeObject & {
  spec: { containers: Container[]; volumes: { name: string; emptyDir?: { sizeLimit: string } }[] };
};
/** Reports the end of the container that speaks to the store. */
async function ends(name: string, component: 'backup' | 'verify', message: object): Promise<Pod> {
  let pod: Pod | undefined;
  await until(`${name} has a pod of ${component}`, async () => {
    const pods = (await kube.listAll(kinds.pod, {
      namespace,
      labelSelector: `gx.dev/deployment=${name},gx.dev/component=${component}`,
    })) as Pod[];
    pod = pods.find(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined &&
        (status as { phase?: string }).phase === 'Pending',
    );
    return pod !== undefined;
  });
  const exitCode = 'reason' in message ? 1 : 0;
  const terminated = {
    exitCode,
    reason: 'Ended',
    message: JSON.stringify(message),
    startedAt: null,
    finishedAt: null,
  };
  const containerStatuses = [
    { name: 'send', image: 'x', imageID: '', ready: false, restartCount: 0, state: { terminated } },
  ];
  const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
  await kube.patchStatus(
    kinds.pod,
    { namespace, name: pod!.metadata.name },
    { phase, containerStatuses },
  );
  return pod!;
}
const DONE = {
  from: '2026-11-26T02:00:01.000Z',
  until: '2026-11-26T02:00:09.000Z',
  bytes: 12,
  migration: 1,
  keys: [],
};
const backedUp = (name: string): Promise<object> =>
  kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name },
      spec: { database: { backup: { target: 'main', schedule: '0 2 * * *' } } },
    }),
  );
const condition = async (name: string) =>
  (await see.deployment(name)).status?.conditions?.find(({ type }) => type === 'BackedUp');
const statusOf = async (name: string) =>
  (await kube.listAll(kinds.backup, { namespace })).find(({ spec }) => spec.deployment === name)
    ?.status;

type WithClaims = KubeObject & {
  spec: { volumeClaimTemplates: { spec: { resources: { requests: { storage: string } } } }[] };
};
/** Returns the GiB of a database's volume. */
async function volumeOf(name: string): Promise<number> {
  const set = (await kube.listAll(kinds.statefulSet, { namespace })).find(
    ({ metadata }) => metadata.name === `${name}-db`,
  ) as WithClaims | undefined;
  return Number.parseInt(
    set?.spec.volumeClaimTemplates[0]?.spec.resources.requests.storage ?? '',
    10,
  );
}

test('the first backup is verified in a pod that knows no password of the database, and its object says when', async () => {
  await backedUp('good');
  const backup = await ends('good', 'backup', DONE);
  // On a busy node it is their weight against agents and databases.
  expect(backup.spec.containers.map(({ resources }) => resources.requests.cpu)).toEqual([
    '10m',
    '10m',
  ]);
  const pod = await ends('good', 'verify', { verified: 'x' } satisfies VerifyDone);
  const [scratch, sender] = pod.spec.containers;
  // Data of one GiB and what Postgres keeps of its log do not fit into one GiB.
  expect(pod.spec.volumes.find(({ name }) => name === 'scratch')?.emptyDir?.sizeLimit).toBe(
    `${2 * (await volumeOf('good')) + 1}Gi`,
  );
  expect(sender?.args).toEqual(['backup', 'verify']);
  const order = JSON.parse(
    sender?.env.find(({ name }) => name === 'GX_VERIFY')?.value ?? '',
  ) as VerifyOrder;
  expect(order).toMatchObject({
    owner: { id: (await see.deployment('good')).metadata.uid },
    target: { bucket: 'ours' },
  });
  expect(JSON.stringify(scratch?.env)).not.toContain('secretKeyRef');
  expect(JSON.stringify(sender?.env)).not.toContain('"key":"uri"');
  await until(
    'the backup is verified',
    async () => (await statusOf('good'))?.verified !== undefined,
    40,
  );
  expect((await statusOf('good'))?.verifying).toBeUndefined();
  await until(
    'the condition says so',
    async () => (await condition('good'))?.message.includes('last verified at') === true,
    40,
  );
  expect(
    await metricOf(operator, 'gx_backup_last_verified_timestamp_seconds', 'deployment="good"'),
  ).toBeGreaterThan(0);
  await until(
    'its Job is gone',
    async () => (await kube.listAll(kinds.job, { namespace })).length === 0,
  );
});

test('a backup that does not come back as it was is reported, with the words of the Job', async () => {
  await backedUp('bad');
  await ends('bad', 'backup', DONE);
  const failed: VerifyFailure = {
    reason: 'NotVerified',
    message: 'gx.thread (2 rows, and had 3).',
  };
  await ends('bad', 'verify', failed);
  await until(
    'BackedUp is False',
    async () => (await condition('bad'))?.reason === 'VerificationFailed',
    40,
  );
  expect(await condition('bad')).toMatchObject({
    status: 'False',
    message: expect.stringContaining('gx.thread (2 rows, and had 3)') as string,
  });
  expect(await statusOf('bad')).toMatchObject({
    phase: 'Succeeded',
    verifyMessage: `NotVerified: ${failed.message}`,
  });
});

test('backups and verifications share the turns of the installation', async () => {
  const names = ['turn-a', 'turn-b', 'turn-c'];
  for (const name of names) await backedUp(name);
  const own = async () =>
    (await kube.listAll(kinds.backup, { namespace })).filter(({ spec }) =>
      names.includes(spec.deployment),
    );
  let most = 0;
  await until(
    'all are verified',
    async () => {
      // All that may begin has begun by then.
      await wait(1000);
      const all = await own();
      const open = all.filter(
        ({ status }) => status?.phase === 'Running' || status?.verifying !== undefined,
      );
      most = Math.max(most, open.length);
      const [next] = open;
      if (next === undefined)
        return (
          all.length === names.length && all.every(({ status }) => status?.verified !== undefined)
        );
      const isMade = next.status?.phase === 'Running';
      await ends(
        next.spec.deployment,
        isMade ? 'backup' : 'verify',
        isMade ? DONE : { verified: 'x' },
      );
      return until('its end is noted', async () => {
        const { status } =
          (await own()).find(({ metadata }) => metadata.name === next.metadata.name) ?? {};
        return isMade ? status?.phase === 'Succeeded' : status?.verifying === undefined;
      }).then(() => false);
    },
    150,
  );
  expect(most).toBe(2);
});
