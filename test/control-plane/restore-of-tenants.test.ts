import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import { dumpRecord } from '../kit/backup-record.ts';
import { fakeKubelet } from '../kit/fake-kubelet.ts';
import { newDeployment } from '../kit/objects.ts';
import { until } from '../kit/until.ts';
import { creation, startPlane, type Plane } from './kit/api-server-plane.ts';
import { COMMON_NAME, makeTenant, type Tenant } from './kit/tenants.ts';

/* Two tenants with backups of the same names: neither restores what is the other's, by REST or by kubectl. */
const TARGET = {
  endpoint: 'https://s3.example.com',
  bucket: 'ours',
  region: 'eu-1',
  prefix: '',
  pathStyle: true,
  secretName: 'store',
};
const BACKUP = '20261126t020000z';
let plane: Plane;
let owner: Tenant;
let stranger: Tenant;

beforeAll(async () => {
  plane = await startPlane('restore-tenants', { namespaces: [], agentNamespaces: [] });
  owner = await makeTenant(plane.kube, plane.namespace, plane.call);
  stranger = await makeTenant(plane.kube, plane.namespace, plane.call);
  const { namespace } = owner;
  const chat = await plane.kube.get(kinds.deployment, { namespace, name: COMMON_NAME });
  const made = await plane.kube.create(
    kinds.backup,
    dumpRecord({
      namespace,
      deployment: COMMON_NAME,
      uid: chat.metadata.uid ?? '',
      backup: BACKUP,
    }),
  );
  await plane.kube.patchStatus(
    kinds.backup,
    { namespace, name: made.metadata.name },
    { phase: 'Succeeded', from: '2026-11-26T02:00:01Z' },
  );
  await plane.startOperator({
    config: { namespaces: [owner.namespace, stranger.namespace] },
    settings: {
      agentNamespaces: [],
      backups: {
        targets: { main: TARGET },
        atOnce: 2,
        deadlineMinutes: 60,
        verifyDays: 0,
        image: 'silent-platform',
      },
    },
  });
});
afterAll(() => plane.stop());

const restore = { backup: `${COMMON_NAME}-${BACKUP}` };

test('REST finds the backup for its owner alone', async () => {
  const ask = (tenant: Tenant) =>
    plane.call<{ detail: string }>('POST', '/v2/deployments?dry_run=true', {
      body: creation('copy', { database: { restore } }),
      key: tenant.keys.admin,
    });
  expect((await ask(owner)).status).toBe(201);
  const { status, body } = await ask(stranger);
  expect([status, body.detail]).toEqual([
    400,
    `database.restore.backup: there is no backup ${restore.backup}`,
  ]);
});

test("so does the operator, and the folder of a restore is always one of the deployment's own tenant", async () => {
  const { namespace } = stranger;
  for (const [name, asked] of Object.entries({
    named: restore,
    placed: { deployment: owner.ids.deployment_id!, target: 'main' },
  }))
    await plane.kube.create(
      kinds.deployment,
      newDeployment(namespace, { metadata: { name }, spec: { database: { restore: asked } } }),
    );
  const reasonOf = async (name: string): Promise<string | undefined> =>
    (await plane.kube.get(kinds.deployment, { namespace, name })).status?.conditions?.find(
      ({ type }) => type === 'Restored',
    )?.reason;
  await until(
    'the backup is not found',
    async () => (await reasonOf('named')) === 'BackupMissing',
    40,
  );
  plane.endWith(fakeKubelet(plane.kube, namespace));
  type Made = {
    spec: { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } };
  };
  let jobs: Made[] = [];
  await until('a Job restores from the folder', async () => {
    jobs = (await plane.kube.listAll(kinds.job, { namespace })) as unknown as Made[];
    return jobs.length > 0;
  });
  const env = jobs.flatMap(({ spec }) =>
    spec.template.spec.containers.flatMap((container) => container.env),
  );
  expect(jobs).toHaveLength(1);
  expect(JSON.parse(env.find(({ name }) => name === 'GX_RESTORE')?.value ?? '')).toMatchObject({
    owner: { tenant: stranger.id },
  });
});
