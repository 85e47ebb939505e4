import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { type BackupResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import { TENANT } from '../../../src/schema/platform/objects/labels.ts';
import { newDeployment } from '../../kit/objects.ts';
import { openStage, type Stage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';
import { BACKUPS, endJob, SAVED } from './ended-job.ts';

/* Two tenants, each with one turn. Nobody runs the pods of Jobs: a backup that has begun lasts until a test ends it. */
const CROWD = '88888888-8888-4888-8888-888888888888';
const OTHER = '99999999-9999-4999-8999-999999999999';
const NOBODY = '77777777-7777-4777-8777-777777777777';
let [crowd, other]: Stage[] = [];

beforeAll(async () => {
  [crowd, other] = await Promise.all(
    ['backup-crowd', 'backup-other'].map((name) => openStage(name)),
  );
  for (const [tenantId, stage] of [
    [CROWD, crowd!],
    [OTHER, other!],
  ] as const) {
    const { kube, namespace: name } = stage;
    stage.startKubelet();
    await kube.patchJson(kinds.namespace, { name }, [
      { op: 'add', path: `/metadata/labels/${TENANT.replace('/', '~1')}`, value: tenantId },
    ]);
    const metadata = { name, namespace: crowd!.namespace };
    await kube.create(kinds.listener, {
      apiVersion: API_VERSION,
      kind: 'Listener',
      metadata,
      spec: { computeId: name, tenantId, namespaces: [name] },
    });
  }
  await crowd!.startOperator({
    settings: { backups: { ...BACKUPS, atOnce: 1 } },
    config: { namespaces: [crowd!.namespace, other!.namespace] },
    times: { sweep: 1000 },
  });
}, 600_000);
afterAll(async () => {
  for (const stage of [crowd, other]) await stage?.stop();
});

/** A Backup as somebody writes it with kubectl. */
const written = (
  { namespace }: Stage,
  name: string,
  spec: Partial<BackupResource['spec']> = {},
): BackupResource => ({
  apiVersion: API_VERSION,
  kind: 'Backup',
  metadata: { name, namespace },
  spec: {
    deployment: 'nobody',
    deploymentUid: NOBODY,
    backup: '20261126t020000z',
    target: 'main',
    method: 'dump',
    ...spec,
  },
});
const backedUp = ({ kube, namespace }: Stage, name: string): Promise<KubeObject> =>
  kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name },
      spec: { database: { backup: { target: 'main', schedule: '0 2 * * *' } } },
    }),
  );
const backupsOf = async (
  { kube, namespace }: Stage,
  deployment: string,
): Promise<BackupResource[]> =>
  (await kube.listAll(kinds.backup, { namespace })).filter(
    ({ spec }) => spec.deployment === deployment,
  );
const hasBegun = (stage: Stage, name: string) =>
  until(`${name} is backed up`, async () => (await backupsOf(stage, name)).length > 0, 40);

test('a name that is no moment is refused: it would become a part of keys at the store', async () => {
  for (const backup of ['../../other', 'x', '20261326T020000Z', '20269926t020000z'])
    await expect(
      crowd!.kube.create(kinds.backup, written(crowd!, 'odd', { backup })),
    ).rejects.toThrow(/spec.backup/);
});

test('backups of nobody, of whatever year, hold no turn, and are collected', async () => {
  for (const [name, backup] of [
    ['late', '99991231t235959z'],
    ['early', '00010101t000000z'],
  ] as const)
    await crowd!.kube.create(kinds.backup, written(crowd!, name, { backup }));
  // A deployment of this name is there, and another one was meant.
  await backedUp(crowd!, 'first');
  await crowd!.kube.create(kinds.backup, written(crowd!, 'former', { deployment: 'first' }));
  await hasBegun(crowd!, 'first');
  await until('they are collected', async () => {
    const left = (await crowd!.kube.listAll(kinds.backup, { namespace: crowd!.namespace })).map(
      ({ metadata }) => metadata.name,
    );
    return ['late', 'early', 'former'].every((name) => !left.includes(name));
  });
  expect(await backupsOf(crowd!, 'first')).toHaveLength(1);
});

test('a backup that never ends holds up its own tenant alone', async () => {
  await backedUp(crowd!, 'second');
  await backedUp(other!, 'single');
  await hasBegun(other!, 'single');
  expect(await backupsOf(crowd!, 'second')).toEqual([]);
  await endJob(crowd!, 'first', { step: 'backup', message: SAVED });
  await hasBegun(crowd!, 'second');
});
