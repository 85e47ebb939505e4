import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import type { BackupOrder } from '../../../src/schema/wire/backup-message.ts';
import { newDeployment } from '../../kit/objects.ts';
import { setStage, type OperatedStage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';
import { BACKUPS, endJob, FOUND, SAVED, SOURCE } from './ended-job.ts';

/* Backups whose target is a volume claim: what their Jobs mount. */

const CLAIM = { claim: 'gx-backups', prefix: 'gx' };
const TARGETS = { ...BACKUPS.targets, disk: CLAIM };

let stage: OperatedStage;
let kube: Kube;
let namespace: string;
beforeAll(async () => {
  stage = await setStage('claim-target', {
    settings: { backups: { ...BACKUPS, targets: TARGETS } },
  });
  ({ kube, namespace } = stage);
});
afterAll(() => stage.stop());

type Container = {
  name: string;
  env: { name: string; value?: string }[];
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
};
const deploy = (name: string, database: object): Promise<object> =>
  kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name }, spec: { database } }),
  );
const conditionOf = async (name: string, type: string) =>
  (await stage.see.deployment(name)).status?.conditions?.find((each) => each.type === type);

/** Returns the container that works with the target, and the containers that have it mounted. */
function mountedIn({ spec }: KubeObject): {
  sender: Container;
  mounting: string[];
  claims: (string | undefined)[];
} {
  const { containers, volumes } = spec as {
    containers: Container[];
    volumes: { persistentVolumeClaim?: { claimName: string } }[];
  };
  const sender = containers.find(({ name }) => name === 'send');
  const mounting = containers.filter(({ volumeMounts }) =>
    volumeMounts.some(({ mountPath }) => mountPath === '/gx/store'),
  );
  const claims = volumes
    .map(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName)
    .filter((claim) => claim !== undefined);
  return { sender: sender!, mounting: mounting.map(({ name }) => name), claims };
}

test('the container that sends a backup writes to the claim, and needs no Secret', async () => {
  await deploy('chat', { backup: { target: 'disk', schedule: '0 2 * * *' } });
  const { sender, mounting, claims } = mountedIn(
    await endJob(stage, 'chat', { step: 'backup', message: SAVED }),
  );
  expect([mounting, claims]).toEqual([['send'], ['gx-backups']]);
  expect(sender.volumeMounts).toContainEqual({ name: 'store', mountPath: '/gx/store' });
  expect(JSON.stringify(sender.env)).not.toContain('secretKeyRef');
  expect(sender.env).toContainEqual({ name: 'GX_BACKUP_MOUNT', value: '/gx/store' });
  const order = JSON.parse(
    sender.env.find(({ name }) => name === 'GX_BACKUP')?.value ?? '',
  ) as BackupOrder;
  expect(order.target).toEqual(CLAIM);
  await until(
    'it is backed up',
    async () => (await conditionOf('chat', 'BackedUp'))?.status === 'True',
  );
});

test('a restore only reads the claim', async () => {
  await deploy('copy', { restore: { deployment: SOURCE, target: 'disk' } });
  const { sender, mounting, claims } = mountedIn(
    await endJob(stage, 'copy', { step: 'restore', message: FOUND }),
  );
  expect([mounting, claims]).toEqual([['send'], ['gx-backups']]);
  expect(sender.volumeMounts).toContainEqual({
    name: 'store',
    mountPath: '/gx/store',
    readOnly: true,
  });
});

test('a claim that is not there is a missing target', async () => {
  await deploy('lost', { backup: { target: 'disk', schedule: '0 2 * * *' } });
  const labelSelector = 'gx.dev/deployment=lost,gx.dev/component=backup';
  const pod = await until(
    'there is a pod',
    async () => (await kube.listAll(kinds.pod, { namespace, labelSelector }))[0],
  );
  const message =
    '0/3 nodes are available: persistentvolumeclaim "gx-backups" not found. preemption: 0/3 nodes are available.';
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }];
  await kube.patchStatus(kinds.pod, { namespace, name: pod.metadata.name }, { conditions });
  await until(
    'it is named',
    async () => (await conditionOf('lost', 'BackedUp'))?.reason === 'TargetMissing',
    40,
  );
  expect((await conditionOf('lost', 'BackedUp'))?.message).toContain(
    'persistentvolumeclaim "gx-backups" not found',
  );
});
