import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call, type Api } from '../../dev/run/control-plane.ts';
import type { BackupAnswer } from '../../src/schema/wire/backup-answer.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { deploy, NAMESPACE, putGraphs, setTargets, TARGET, type Agent } from './stage.ts';

/* Backups go to a volume claim, and come back from it: with real pods and a real volume, where no store speaks S3. */

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const name = `claim-${Date.now().toString(36).slice(-5)}`;
const encryptionKey = randomBytes(32).toString('base64');

let original: Agent;
let restored: Agent | undefined;

beforeAll(async () => {
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: NAMESPACE },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  await setTargets(kubectl, [{ name: TARGET, claim: name, prefix: 'gx' }]);
  await putGraphs(kubectl, name);
  original = await deploy(system, { name, graphs: name, encryptionKey });
});
afterAll(async () => {
  await kubectl(
    'delete',
    'gxd',
    name,
    `${name}-again`,
    '-n',
    NAMESPACE,
    '--ignore-not-found',
    '--wait=false',
  );
  await kubectl('delete', `configmap/${name}`, `pvc/${name}`, '-n', NAMESPACE, '--wait=false');
  await setTargets(kubectl, undefined);
});

const backups = async (): Promise<BackupAnswer[]> =>
  (await call<{ resources: BackupAnswer[] }>(api, 'GET', `/v2/deployments/${original.id}/backups`))
    .resources;

/** The condition has the words of a failure. */
async function condition(): Promise<string> {
  return kubectl('get', 'gxd', name, '-n', NAMESPACE, '-o', 'jsonpath={.status.conditions}');
}

test('a backup goes to the claim, and a verification restores it from there', async () => {
  const { client, id } = original;
  const { thread_id: thread } = await client.threads.create();
  await client.runs.wait(thread, 'asking', { input: { round: 'the bridge' } });
  await call(api, 'PATCH', `/v2/deployments/${id}`, {
    source_config: { database_backup: { target: TARGET } },
  });
  await call(api, 'POST', `/v2/deployments/${id}/backups`);
  const seen = async (done: (backup: BackupAnswer) => boolean): Promise<BackupAnswer> => {
    const [newest] = await backups();
    if (newest !== undefined && done(newest)) return newest;
    throw new Error(await condition());
  };
  const backup = await until(
    'the backup is over',
    () => seen(({ status }) => status !== 'Running'),
    240,
  );
  expect(backup).toMatchObject({ status: 'Succeeded', message: null, target: TARGET });
  await until('it is verified', () => seen(({ verified_at }) => verified_at !== null), 240);

  const database = { restore: { deployment_id: id, target: TARGET, resume: true } };
  restored = await deploy(system, { name: `${name}-again`, graphs: name, encryptionKey, database });
  expect(
    await restored.client.runs.wait(thread, 'asking', { command: { resume: 'paint it' } }),
  ).toMatchObject({ answer: 'paint it' });
});

test('a claim that is not there is named, and the backups that are there stay', async () => {
  const before = await backups();
  await setTargets(kubectl, [{ name: TARGET, claim: 'no-such-claim', prefix: 'gx' }]);
  await call(api, 'POST', `/v2/deployments/${original.id}/backups`);
  await until('it has failed', async () => (await condition()).includes('TargetMissing'), 240);
  expect(await condition()).toContain('no-such-claim');
  expect((await backups()).filter(({ status }) => status === 'Succeeded')).toEqual(before);
});
