import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import type { DatabaseSpec } from '../../../src/schema/platform/spec/database-spec.ts';
import type {
  RestoreDone,
  RestoreFailure,
  RestoreOrder,
} from '../../../src/schema/wire/restore-message.ts';
import { dumpRecord } from '../../kit/backup-record.ts';
import { newDeployment } from '../../kit/objects.ts';
import type { look } from '../../kit/operator.ts';
import { setStage, type OperatedStage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';

/*
 * Nobody runs the pods of restores: a test reports of them what their containers would. A store without TLS has dumps
 * alone.
 */
const TARGET = {
  endpoint: 'http://s3.example.com',
  bucket: 'our-backups',
  region: 'eu-1',
  prefix: 'gx',
  pathStyle: true,
  secretName: 'store',
};
const SOURCE = '44444444-4444-4444-8444-444444444444';
let stage: OperatedStage;
let kube: Kube;
let namespace: string;
let see: ReturnType<typeof look>;
beforeAll(async () => {
  const backups = {
    targets: { main: TARGET },
    atOnce: 2,
    deadlineMinutes: 60,
    verifyDays: 0,
    image: 'silent-platform',
  };
  stage = await setStage('restores', { settings: { backups } });
  ({ kube, namespace, see } = stage);
});
afterAll(() => stage.stop());

const create = (name: string, database: DatabaseSpec, secretName?: string): Promise<object> =>
  kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name },
      spec: { database },
      ...(secretName !== undefined && { template: { secretName } }),
    }),
  );
const condition = async (name: string) =>
  (await see.deployment(name)).status?.conditions?.find(({ type }) => type === 'Restored');
const untilReason = (name: string, reason: string): Promise<true> =>
  until(
    `Restored of ${name} is ${reason}`,
    async () => (await condition(name))?.reason === reason,
    40,
  );
const agentPods = async (name: string): Promise<KubeObject[]> =>
  kube.listAll(kinds.pod, {
    namespace,
    labelSelector: `gx.dev/deployment=${name},gx.dev/component in (api,queue)`,
  });

type Pod = KubeObject & {
  spec: {
    containers: { name: string; args?: string[]; env: { name: string; value?: string }[] }[];
  };
};
async function podOf(name: string): Promise<Pod> {
  let found: Pod | undefined;
  await until(`${name} has a pod that restores`, async () => {
    const pods = (await kube.listAll(kinds.pod, {
      namespace,
      labelSelector: `gx.dev/deployment=${name},gx.dev/component=restore`,
    })) as Pod[];
    found = pods.find(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined &&
        (status as { phase?: string }).phase === 'Pending',
    );
    return found !== undefined;
  });
  return found!;
}

/** Reports the end of the container that reads the backup. */
async function ends(
  name: string,
  message: RestoreDone | RestoreFailure,
  finishedAt: string | null = null,
): Promise<Pod> {
  const pod = await podOf(name);
  const exitCode = 'reason' in message ? 1 : 0;
  const terminated = {
    exitCode,
    reason: 'Ended',
    message: JSON.stringify(message),
    startedAt: null,
    finishedAt,
  };
  const containerStatuses = [
    { name: 'send', image: 'x', imageID: '', ready: false, restartCount: 0, state: { terminated } },
  ];
  await kube.patchStatus(
    kinds.pod,
    { namespace, name: pod.metadata.name },
    { phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses },
  );
  return pod;
}

test('no agent starts before the backup is restored, and then they do', async () => {
  await create(
    'copy',
    { restore: { deployment: SOURCE, target: 'main', at: '2026-11-26T00:00:00Z' } },
    'copy-secrets',
  );
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'copy-secrets', namespace },
    stringData: { A: 'b' },
  });
  const pod = await podOf('copy');
  const [restorer, sender] = pod.spec.containers;
  expect(sender?.args).toEqual(['backup', 'restore']);
  const { metadata } = await see.deployment('copy');
  const order = JSON.parse(
    sender?.env.find(({ name }) => name === 'GX_RESTORE')?.value ?? '',
  ) as RestoreOrder;
  expect(order).toMatchObject({
    owner: { id: SOURCE },
    at: '2026-11-26T00:00:00Z',
    into: metadata.uid,
    resume: false,
  });
  expect(JSON.stringify(pod.spec)).toContain('"secretName":"copy-secrets"');
  // The container that knows the database's password does not know the store's, and the other way round.
  expect(JSON.stringify(restorer?.env)).not.toContain('"name":"store"');
  expect(JSON.stringify(sender?.env)).not.toContain('"key":"uri"');
  await untilReason('copy', 'Restoring');
  expect(await agentPods('copy')).toEqual([]);
  expect((await see.deployment('copy')).status).toMatchObject({ phase: 'AWAITING_DATABASE' });
  const from = '2026-11-25T02:00:01.000Z';
  await ends('copy', { backup: `${SOURCE}/20261125t020000z`, from });
  await untilReason('copy', 'Restored');
  await see.untilReady('copy');
  expect(await condition('copy')).toMatchObject({
    status: 'True',
    message: expect.stringContaining('2026-11-25T02:00:01Z') as string,
  });
  expect((await see.deployment('copy')).status).toMatchObject({
    restoredBackup: `${SOURCE}/20261125t020000z`,
    phase: 'READY',
  });
  await until(
    'its Job is gone',
    async () => (await kube.listAll(kinds.job, { namespace })).length === 0,
  );
});

test('a restore that fails is told with its reason, starts no agent, and is tried again', async () => {
  await create('unlucky', { restore: { deployment: SOURCE, target: 'main' } });
  const failed: RestoreFailure = {
    reason: 'RestoreFailed',
    message: 'The database took nothing (status 3): ERROR: no room.',
  };
  const first = await ends(
    'unlucky',
    failed,
    new Date(Date.now() - 60_000).toISOString().replace(/\.\d+Z$/, 'Z'),
  );
  await untilReason('unlucky', 'RestoreFailed');
  expect(await condition('unlucky')).toMatchObject({
    status: 'False',
    message: expect.stringContaining('ERROR: no room') as string,
  });
  expect(await agentPods('unlucky')).toEqual([]);
  const terminated = {
    exitCode: 1,
    reason: 'Ended',
    message: JSON.stringify(failed),
    startedAt: null,
    finishedAt: '2026-01-01T00:00:00Z',
  };
  const containerStatuses = [
    { name: 'send', image: 'x', imageID: '', ready: false, restartCount: 0, state: { terminated } },
  ];
  await kube.patchStatus(
    kinds.pod,
    { namespace, name: first.metadata.name },
    { phase: 'Failed', containerStatuses },
  );
  const second = await ends('unlucky', {
    backup: `${SOURCE}/20261125t020000z`,
    from: '2026-11-25T02:00:01.000Z',
  });
  expect(second.metadata.name).not.toBe(first.metadata.name);
  await see.untilReady('unlucky');
});

test("a backup that is not the tenant's is not found, and nothing starts", async () => {
  await create('stranger', { restore: { backup: 'nobody-20261126t020000z' } });
  await untilReason('stranger', 'BackupMissing');
  expect(await agentPods('stranger')).toEqual([]);
  expect(
    await kube.listAll(kinds.job, { namespace, labelSelector: 'gx.dev/deployment=stranger' }),
  ).toEqual([]);
});

test('a restore by name waits for the backup, and takes it once it is made', async () => {
  const made = dumpRecord({
    namespace,
    deployment: 'source',
    uid: SOURCE,
    backup: '20261126t020000z',
  });
  await kube.create(kinds.backup, made);
  await create('later', { restore: { backup: made.metadata.name } });
  await untilReason('later', 'WaitsForBackup');
  await kube.patchStatus(
    kinds.backup,
    { namespace, name: made.metadata.name },
    { phase: 'Succeeded', from: '2026-11-26T02:00:01Z' },
  );
  const pod = await podOf('later');
  const env = pod.spec.containers.find(({ name }) => name === 'send')?.env ?? [];
  expect(JSON.parse(env.find(({ name }) => name === 'GX_RESTORE')?.value ?? '')).toMatchObject({
    name: '20261126t020000z',
    owner: { id: SOURCE },
  });
});

test('SQL of a ConfigMap is lent to the container that restores, and a ConfigMap that is not there is named', async () => {
  await create('scrubbed', {
    restore: { deployment: SOURCE, target: 'main', sqlConfigMap: 'remove-mails' },
  });
  const pod = await podOf('scrubbed');
  const spec = JSON.stringify(pod.spec);
  expect(spec).toContain('"configMap":{"name":"remove-mails"');
  expect(spec).toContain('"mountPath":"/gx/sql"');
  const state = { waiting: { reason: 'ContainerCreating' } };
  const containerStatuses = ['restore', 'send'].map((name) => ({
    name,
    image: 'x',
    imageID: '',
    ready: false,
    restartCount: 0,
    state,
  }));
  await kube.patchStatus(
    kinds.pod,
    { namespace, name: pod.metadata.name },
    { phase: 'Pending', containerStatuses },
  );
  await until(
    'the condition names it',
    async () => (await condition('scrubbed'))?.message.includes('ConfigMap remove-mails') === true,
    40,
  );
});

describe('the API server refuses, with the field and the reason', () => {
  test.each([
    [
      'neither a backup nor a deployment',
      { resume: true },
      'database.restore: either backup or deployment',
    ],
    [
      'both',
      { backup: 'chat-20261126t020000z', deployment: SOURCE },
      'database.restore: either backup or deployment',
    ],
    [
      'a moment beside a backup',
      { backup: 'chat-20261126t020000z', at: '2026-11-26T00:00:00Z' },
      'database.restore.at: only beside deployment',
    ],
    [
      'a request beside a backup',
      { backup: 'a', requestedAt: '2026-11-26T00:00:00Z' },
      'database.restore.requestedAt: only beside deployment',
    ],
    [
      'a target beside a backup',
      { backup: 'chat-20261126t020000z', target: 'main' },
      'database.restore.target: only beside deployment',
    ],
  ])('%s', async (_what, restore, words) => {
    await expect(create('refused', { restore })).rejects.toThrow(words);
  });

  test('a restore into an external database', async () => {
    const database = { external: { secretName: 'mine' }, restore: { deployment: SOURCE } };
    await expect(create('refused', database)).rejects.toThrow(
      'database.restore: only for a managed database',
    );
  });

  test('another backup, or none, once the deployment exists', async () => {
    const at = { namespace, name: 'stranger' };
    const words = "database.restore: can't be changed";
    const path = '/spec/database/restore';
    await expect(kube.patchJson(kinds.deployment, at, [{ op: 'remove', path }])).rejects.toThrow(
      words,
    );
    await expect(
      kube.patchJson(kinds.deployment, at, [
        { op: 'replace', path: `${path}/backup`, value: 'another' },
      ]),
    ).rejects.toThrow(words);
  });
});
