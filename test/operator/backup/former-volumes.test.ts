import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { newDeployment } from '../../kit/objects.ts';
import { setStage, type OperatedStage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';
import { BACKUPS, endJob, FOUND, SOURCE } from './ended-job.ts';

/* Volumes with data that was replaced stay for a week. */

let stage: OperatedStage;
let kube: Kube;
let namespace: string;
beforeAll(async () => {
  stage = await setStage('former', { settings: { backups: BACKUPS } });
  ({ kube, namespace } = stage);
});
afterAll(() => stage.stop());

const status = async (name: string) => (await stage.see.deployment(name)).status ?? {};
const claims = async (name: string): Promise<string[]> =>
  (await kube.listAll(kinds.volumeClaim, { namespace }))
    .map(({ metadata }) => metadata.name)
    .filter((each) => each.endsWith(`-${name}-db-0`));
const ask = (name: string, restore: object): Promise<unknown> => {
  const value = { replaceRequestedAt: new Date(Date.now() + 2000).toISOString(), ...restore };
  return kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/spec/database/restore', value },
  ]);
};

/** Deploys one whose data is replaced. Returns the former claim and the present one. */
async function replaced(name: string): Promise<[string, string]> {
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name },
      spec: { database: { backup: { target: 'main' } } },
    }),
  );
  await stage.see.untilReady(name);
  const [former = ''] = await claims(name);
  await ask(name, { deployment: SOURCE, target: 'main', withoutBackup: true });
  await endJob(stage, name, { step: 'check', message: FOUND });
  await endJob(stage, name, { step: 'restore', message: FOUND });
  await until('it is over', async () => (await status(name)).formerVolumes?.length === 1, 40);
  await stage.see.untilReady(name, 40);
  return [former, (await status(name)).databaseVolume ?? ''];
}

/** Has the time of the former volume end within so many seconds, as an operator sees it that starts now. */
async function endTime(name: string, claim: string, seconds: number): Promise<void> {
  await stage.operator.stop();
  const end = new Date(Date.now() + seconds * 1000).toISOString();
  await kube.patchStatus(
    kinds.deployment,
    { namespace, name },
    { formerVolumes: [{ claim, until: end }] },
  );
  stage.operator = await stage.startOperator({ settings: { backups: BACKUPS }, identity: name });
}

test('a former volume is deleted when its time is over, and the one in use stays', async () => {
  const [former, present] = await replaced('chat');
  expect((await claims('chat')).toSorted()).toEqual([former, present].toSorted());
  await endTime('chat', former, 8);
  expect(await claims('chat')).toHaveLength(2);
  await until('the former volume is gone', async () => (await claims('chat')).length === 1, 60);
  expect(await claims('chat')).toEqual([present]);
  await until(
    'no field names it',
    async () => (await status('chat')).formerVolumes === undefined,
    20,
  );
  expect((await status('chat')).databaseVolume).toBe(present);
});

test('a former volume that a restore goes back to stays, even if its time ends meanwhile', async () => {
  const [former, present] = await replaced('late');
  const uidOf = async (): Promise<unknown> =>
    (await kube.get(kinds.volumeClaim, { namespace, name: former })).metadata.uid;
  const uid = await uidOf();
  await stage.operator.stop();
  await ask('late', { volume: former });
  await endTime('late', former, 0);
  await until(
    'it is back',
    async () => (await status('late')).formerVolumes?.[0]?.claim === present,
    60,
  );
  await stage.see.untilReady('late', 40);
  expect((await claims('late')).toSorted()).toEqual([former, present].toSorted());
  // A set makes a claim of the same name again, with nothing on it.
  expect(await uidOf()).toBe(uid);
});

/** Leaves a deployment as a backup of resources restores it, before an operator that starts now. */
async function loseStatus(name: string): Promise<void> {
  await stage.operator.stop();
  const none = Object.fromEntries(Object.keys(await status(name)).map((field) => [field, null]));
  await kube.patchStatus(kinds.deployment, { namespace, name }, none);
  expect(await status(name)).toEqual({});
  stage.operator = await stage.startOperator({
    settings: { backups: BACKUPS },
    identity: `${name}-again`,
  });
}

test('a deployment without a status finds its former volumes by their claims, and can go back to one', async () => {
  const [former, present] = await replaced('forgot');
  const { formerVolumes } = await status('forgot');
  await loseStatus('forgot');
  await until(
    'its former volume is known again',
    async () => (await status('forgot')).formerVolumes !== undefined,
    40,
  );
  expect(await status('forgot')).toMatchObject({ databaseVolume: present, formerVolumes });
  await stage.see.untilReady('forgot', 40);
  expect((await claims('forgot')).toSorted()).toEqual([former, present].toSorted());
  await ask('forgot', { volume: former });
  await until(
    'it is back',
    async () => (await status('forgot')).formerVolumes?.[0]?.claim === present,
    60,
  );
  await stage.see.untilReady('forgot', 40);

  await loseStatus('forgot');
  await until(
    'the other one is known again',
    async () => (await status('forgot')).formerVolumes?.[0]?.claim === present,
    40,
  );
  await stage.see.untilReady('forgot', 40);
  const { databaseVolume, conditions = [] } = await status('forgot');
  expect([databaseVolume, conditions.find(({ type }) => type === 'Restored')?.status]).toEqual([
    former,
    'True',
  ]);
});

test('a volume whose restore was under way when the status was lost is set aside', async () => {
  const [former, present] = await replaced('midway');
  const ref = { namespace, name: former };
  const { annotations = {} } = (await kube.get(kinds.volumeClaim, ref)).metadata;
  const { 'gx.dev/set-aside-until': _note, ...others } = annotations;
  await kube.patchJson(kinds.volumeClaim, ref, [
    { op: 'add', path: '/metadata/annotations', value: others },
  ]);
  await loseStatus('midway');
  await until(
    'it is known again',
    async () => (await status('midway')).formerVolumes?.[0]?.claim === former,
    40,
  );
  const { databaseVolume, formerVolumes = [] } = await status('midway');
  expect(databaseVolume).toBe(present);
  expect(Date.parse(formerVolumes[0]?.until ?? '') - Date.now()).toBeGreaterThan(6.9 * 86_400_000);
  expect(
    (await kube.get(kinds.volumeClaim, ref)).metadata.annotations?.['gx.dev/set-aside-until'],
  ).toBe(formerVolumes[0]?.until);
});
