import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { BUILD_NAMESPACE } from '../../dev/run/builds.ts';
import { call, type Api } from '../../dev/run/control-plane.ts';
import type { BackupAnswer } from '../../src/schema/wire/backup-answer.ts';
import { deployFromGit, type GitDeployment } from '../kit/git-deployment.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { eachOf, until } from '../kit/until.ts';
import {
  deploy,
  NAMESPACE,
  putGraphs,
  startStore,
  TARGET,
  type Agent,
  type Store,
} from '../restore/stage.ts';
import { injectMesh, POLITE, removeMesh, SILENT, SILENT_INIT } from './mesh.ts';
import { watchJobPods, type JobPods } from './job-pods.ts';

/*
 * Every kind of Job of ours in real pods: where a quota of the namespace refuses them, and beside containers of a mesh
 * that never end.
 */

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const suffix = Date.now().toString(36).slice(-5);
const [name, clone, secondClone, repository] = [
  `jobs-${suffix}`,
  `copy-${suffix}`,
  `again-${suffix}`,
  `built-${suffix}`,
];
const encryptionKey = randomBytes(32).toString('base64');
const KINDS = ['backup', 'build', 'password', 'restore', 'verify'];
/** Milliseconds of one test. */
const LIMIT = 1_500_000;
/** Seconds that one Job and what follows from it may take on a busy machine. */
const PATIENCE = 400;
/** Seconds within which a refusal is told: half a minute of patience with the Job, and the operator's next look. */
const TOLD_WITHIN = 75;

let store: Store;
let agent: Agent;
let built: GitDeployment | undefined;
let pods: JobPods;

beforeAll(async () => {
  store = await startStore(system);
  await setVerifyDays(0);
  await putGraphs(kubectl, name);
  const backup = { target: TARGET };
  agent = await deploy(system, { name, graphs: name, encryptionKey, backup });
  pods = watchJobPods(kubectl, [NAMESPACE, BUILD_NAMESPACE]);
});
afterAll(() =>
  eachOf([
    () => pods.stop(),
    () => removeMesh(kubectl),
    () => setQuota(false),
    async () => built && call(api, 'DELETE', `/v2/deployments/${built.id}`),
    () =>
      kubectl(
        'delete',
        'gxd',
        name,
        clone,
        secondClone,
        '-n',
        NAMESPACE,
        '--ignore-not-found',
        '--timeout=180s',
      ),
    () => kubectl('delete', 'configmap', name, '-n', NAMESPACE),
    () => kubectl('set', 'env', 'deploy/gx-operator', '-n', 'gx-system', 'GX_BACKUP_VERIFY_DAYS-'),
    () => store.remove(),
  ]),
);

async function setVerifyDays(days: number): Promise<void> {
  await kubectl(
    'set',
    'env',
    'deploy/gx-operator',
    '-n',
    'gx-system',
    `GX_BACKUP_VERIFY_DAYS=${days}`,
  );
  await kubectl('rollout', 'status', 'deploy/gx-operator', '-n', 'gx-system', '--timeout=180s');
}

/** Sets or removes a quota that leaves no room for a further pod, neither for agents nor for builds. */
async function setQuota(isFull: boolean): Promise<void> {
  const namespaces = [NAMESPACE, BUILD_NAMESPACE];
  for (const namespace of namespaces)
    if (isFull) await kubectl('create', 'quota', 'none', '-n', namespace, '--hard=pods=0');
    else await kubectl('delete', 'quota', 'none', '-n', namespace, '--ignore-not-found');
  if (!isFull) return;
  await until('the quotas count', async () => {
    const used = await Promise.all(
      namespaces.map((namespace) =>
        kubectl('get', 'quota', 'none', '-n', namespace, '-o', 'jsonpath={.status.used.pods}'),
      ),
    );
    return used.every((count) => count !== '');
  });
}

type Condition = {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastTransitionTime: string;
};
type Conditioned = { status?: { conditions?: Condition[] } };

const conditionsOf = async (resource: string): Promise<Condition[]> =>
  (await kubectl.json<Conditioned>('get', resource, '-n', NAMESPACE)).status?.conditions ?? [];
const conditionOf = async (resource: string, type: string): Promise<Condition | undefined> =>
  (await conditionsOf(resource)).find((each) => each.type === type);

/** Waits until an object says in the API server's words that the quota refuses a Job's pod. Prints how long it took. */
async function untilRefused(
  what: string,
  resource: string,
  { type, reason }: { type?: string; reason: string },
): Promise<void> {
  const began = performance.now();
  const told = await until(
    `${what} is told`,
    async () => {
      const conditions = await conditionsOf(resource);
      const condition = conditions.find(
        (each) => each.reason === reason && (type === undefined || each.type === type),
      );
      if (condition !== undefined) return condition;
      throw new Error(JSON.stringify(conditions));
    },
    TOLD_WITHIN,
  );
  expect(told.message).toContain("The namespace's quota leaves no room for a pod: ");
  expect(told.message).toMatch(
    /exceeded quota: none, requested: pods=1, used: pods=\d+, limited: pods=0/,
  );
  process.stdout.write(`${what}: told after ${Math.round((performance.now() - began) / 1000)} s\n`);
}

const patch = (deployment: string, database: object): Promise<string> =>
  kubectl(
    'patch',
    'gxd',
    deployment,
    '-n',
    NAMESPACE,
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { database } }),
  );
/** Now, as conditions have it: without parts of a second. */
const now = (): string => `${new Date().toISOString().slice(0, 19)}Z`;
/** Asks for a new password. Returns the time of the request. */
async function askPassword(): Promise<string> {
  const passwordRequestedAt = now();
  await patch(name, { passwordRequestedAt });
  return passwordRequestedAt;
}
const askBackup = (): Promise<unknown> => call(api, 'POST', `/v2/deployments/${agent.id}/backups`);
const backups = async (): Promise<BackupAnswer[]> =>
  (await call<{ resources: BackupAnswer[] }>(api, 'GET', `/v2/deployments/${agent.id}/backups`))
    .resources;
const askRestore = async (): Promise<unknown> =>
  call(api, 'POST', `/v2/deployments/${agent.id}/restore`, {
    backup: (await backups()).find(({ status }) => status === 'Succeeded')?.name,
  });

/** Deploys agents whose database begins with the newest backup of the first deployment. */
const startClone = (of: string): Promise<Agent> =>
  deploy(system, {
    name: of,
    graphs: name,
    encryptionKey,
    database: { restore: { deployment_id: agent.id, target: TARGET } },
  });

/** Forgets that backups were verified, so that the newest one is due. */
async function forgetVerified(): Promise<void> {
  const listed = await kubectl('get', 'gxb', '-n', NAMESPACE, '-o', 'name');
  for (const one of listed.split('\n').filter(Boolean))
    await kubectl(
      'patch',
      one,
      '-n',
      NAMESPACE,
      '--subresource=status',
      '--type=merge',
      '-p',
      '{"status":{"verified":null}}',
    );
}

const untilPasswordChanged = (requestedAt: string): Promise<boolean> =>
  until(
    'the password is changed',
    async () => {
      const changed = await kubectl(
        'get',
        'gxd',
        name,
        '-n',
        NAMESPACE,
        '-o',
        'jsonpath={.status.passwordRequestedAt}',
      );
      return (
        changed === requestedAt &&
        (await conditionOf(`gxd/${name}`, 'PasswordRotated')) === undefined
      );
    },
    PATIENCE,
  );
const untilBackups = (count: number): Promise<unknown> =>
  until(
    `there are ${count} backups`,
    async () => {
      const all = await backups();
      if (all.filter(({ status }) => status === 'Succeeded').length >= count) return true;
      throw new Error(JSON.stringify(all));
    },
    PATIENCE,
  );
const untilVerified = (): Promise<unknown> =>
  until(
    'the newest backup is verified',
    async () => {
      const [newest] = await backups();
      if (newest?.verified_at) return true;
      throw new Error(JSON.stringify([newest, await conditionOf(`gxd/${name}`, 'BackedUp')]));
    },
    PATIENCE,
  );
const untilRestored = (of: string, since: string): Promise<unknown> =>
  until(
    `${of} has the data of the backup, and serves`,
    async () => {
      const conditions = await conditionsOf(`gxd/${of}`);
      const restored = conditions.find(({ type }) => type === 'Restored');
      const ready = conditions.find(({ type }) => type === 'Ready');
      if (
        restored?.status === 'True' &&
        restored.lastTransitionTime >= since &&
        ready?.status === 'True'
      )
        return true;
      throw new Error(JSON.stringify([restored, ready]));
    },
    PATIENCE,
  );

test(
  'a full quota is told for passwords, backups and builds, and they end when it is gone',
  async () => {
    await setQuota(true);
    const [requestedAt] = await Promise.all([askPassword(), askBackup()]);
    built = await deployFromGit(system, { name: repository });
    await Promise.all([
      untilRefused('password', `gxd/${name}`, { type: 'PasswordRotated', reason: 'QuotaExceeded' }),
      untilRefused('backup', `gxd/${name}`, { type: 'BackedUp', reason: 'QuotaExceeded' }),
      untilRefused('build', `gxr/${repository}-00001`, { reason: 'QuotaExceeded' }),
    ]);
    expect((await built.revisions())[0]).toMatchObject({
      status: 'AWAITING_BUILD',
      status_message: expect.stringContaining('exceeded quota'),
    });
    await setQuota(false);
    await Promise.all([untilPasswordChanged(requestedAt), untilBackups(1)]);
    await until(
      'it is built, and serves',
      async () => (await built!.revisions())[0]?.status === 'DEPLOYED',
      PATIENCE,
    );
  },
  LIMIT,
);

test(
  'the same for verifications, clones and restores',
  async () => {
    await setQuota(true);
    await setVerifyDays(7);
    const cloned = startClone(clone);
    // It is awaited once the quota is gone.
    cloned.catch(() => undefined);
    // The quota refuses the pod of the clone's database, too. Its Job, which is that of a restore, comes after it.
    await untilRefused('verification', `gxd/${name}`, {
      type: 'BackedUp',
      reason: 'VerificationWaits',
    });
    await setQuota(false);
    await Promise.all([untilVerified(), cloned]);
    await kubectl('delete', 'gxd', clone, '-n', NAMESPACE, '--timeout=180s');

    await setQuota(true);
    const asked = now();
    await askRestore();
    await untilRefused('restore', `gxd/${name}`, { type: 'Restored', reason: 'QuotaExceeded' });
    await setQuota(false);
    await untilRestored(name, asked);
    expect(pods.seen().map(({ component }) => component)).toEqual(expect.arrayContaining(KINDS));
  },
  LIMIT,
);

test(
  'each kind ends beside containers of a mesh that never end, and a mesh that heeds labels leaves it out',
  async () => {
    await injectMesh(kubectl, system.image);
    const since = pods.seen().length;
    const [requestedAt, commit] = await Promise.all([
      askPassword(),
      built!.push({ 'word.js': "export const WORD = 'meshed';\n" }),
    ]);
    await untilPasswordChanged(requestedAt);
    const before = (await backups()).filter(({ status }) => status === 'Succeeded').length;
    await askBackup();
    await untilBackups(before + 1);
    await forgetVerified();
    await untilVerified();
    await startClone(secondClone);
    await kubectl('delete', 'gxd', secondClone, '-n', NAMESPACE, '--timeout=180s');
    const asked = now();
    await askRestore();
    await untilRestored(name, asked);
    expect((await built!.ended(commit)).status).toBe('DEPLOYED');
    const meshed = pods.seen().slice(since);
    process.stdout.write(`beside the mesh: ${JSON.stringify(meshed)}\n`);
    for (const { containers } of meshed) {
      expect(containers).toEqual(expect.arrayContaining([SILENT, SILENT_INIT]));
      expect(containers).not.toContain(POLITE);
    }
    expect([...new Set(meshed.map(({ component }) => component))].toSorted()).toEqual(KINDS);
    const agents = await kubectl(
      'get',
      'pods',
      '-n',
      NAMESPACE,
      '-l',
      `gx.dev/deployment=${name}`,
      '-o',
      'jsonpath={.items[*].spec.containers[*].name}',
    );
    expect(agents).toContain(POLITE);
    await until('no Job stays open', async () => (await pods.left()).length === 0, PATIENCE);
  },
  LIMIT,
);
