import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call, type Api } from '../../dev/run/control-plane.ts';
import type { BackupAnswer } from '../../src/schema/wire/backup-answer.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import {
  deploy,
  marksOf,
  NAMESPACE,
  putGraphs,
  startStore,
  TARGET,
  type Agent,
  type Store,
} from './stage.ts';

/*
 * A deployment loses its volume, and comes back from its backup: with real pods, a real Postgres and a real S3 server
 * with TLS.
 */

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const name = `lost-${Date.now().toString(36).slice(-5)}`;
const encryptionKey = randomBytes(32).toString('base64');
/** Milliseconds of the run that is under way: longer than the backup takes. */
const UNDER_WAY = 90_000;

let store: Store;
let original: Agent;
let restored: Agent;
/** What clients hold when the backup is made: ids, which a restore must not change. */
let held: {
  asked: string;
  running: { thread: string; run: string };
  queued: string;
  delayed: string;
  cron: string;
  assistant: string;
};
let lateThread: string;
let backup: BackupAnswer;

beforeAll(async () => {
  store = await startStore(system);
  await putGraphs(kubectl, name);
  original = await deploy(system, { name, graphs: name, encryptionKey });
});
afterAll(async () => {
  if (restored !== undefined)
    await call(api, 'DELETE', `/v2/deployments/${restored.id}?delete_data=true`);
  await kubectl('delete', 'configmap', name, '-n', NAMESPACE);
  await store.remove();
});

const step = (round: string, milliseconds = 1) => ({ input: { round, milliseconds } });

test('a backup is made on request while runs wait, are under way and are due later, and a verification proves it', async () => {
  const { client, id } = original;
  const asked = await client.threads.create();
  await client.runs.wait(asked.thread_id, 'asking', { input: { round: 'the bridge' } });
  const busy = await client.threads.create();
  const running = await client.runs.create(busy.thread_id, 'stepping', step('running', UNDER_WAY));
  const queued = await client.runs.create(busy.thread_id, 'stepping', {
    ...step('queued'),
    multitaskStrategy: 'enqueue',
  });
  const delayedThread = await client.threads.create();
  await client.runs.create(delayedThread.thread_id, 'stepping', {
    ...step('delayed'),
    afterSeconds: 180,
  });
  const cron = await client.crons.create('stepping', { schedule: '* * * * *', ...step('cron') });
  const assistant = await client.assistants.create({ graphId: 'stepping', name: 'of the test' });
  held = {
    asked: asked.thread_id,
    running: { thread: busy.thread_id, run: running.run_id },
    queued: queued.run_id,
    delayed: delayedThread.thread_id,
    cron: cron.cron_id,
    assistant: assistant.assistant_id,
  };
  await until('the first step is over', async () =>
    (await marksOf(original)).some(({ round }) => round === 'running'),
  );

  const path = `/v2/deployments/${id}/backups`;
  await kubectl(
    'patch',
    'gxd',
    name,
    '-n',
    NAMESPACE,
    '--type=merge',
    '-p',
    `{"spec":{"database":{"backup":{"target":"${TARGET}"}}}}`,
  );
  await call(api, 'POST', path);
  const listed = async (): Promise<BackupAnswer | undefined> =>
    (await call<{ resources: BackupAnswer[] }>(api, 'GET', path)).resources[0];
  backup = await until('the backup is over', async () => {
    const newest = await listed();
    return newest?.status === 'Running' ? undefined : newest;
  });
  expect(backup).toMatchObject({ status: 'Succeeded', message: null, target: TARGET });
  expect(await marksOf(original)).toEqual(
    expect.not.arrayContaining([expect.objectContaining({ round: 'running', node: 'second' })]),
  );
  expect(
    (await store.keys()).map((key) =>
      key.replace(/^gx\/[^/]+\/[^/]+\//, '').replace(/\d{8}t\d{6}z/, 'TIME'),
    ),
  ).toEqual(['catalogue/TIME.json', 'dumps/TIME', 'owner.json']);

  const late = await client.threads.create();
  await client.runs.wait(late.thread_id, 'stepping', step('late'));
  lateThread = late.thread_id;
  // The condition has the words of a verification that failed.
  await until(
    'a verification restores it',
    async () => {
      backup = (await listed()) ?? backup;
      if (backup.verified_at !== null) return true;
      throw new Error(
        await kubectl('get', 'gxd', name, '-n', NAMESPACE, '-o', 'jsonpath={.status.conditions}'),
      );
    },
    240,
  );
});

test('the volume and its data are lost', async () => {
  const claims = await kubectl.json<{
    items: { metadata: { name: string }; spec: { volumeName: string } }[];
  }>('get', 'pvc', '-n', NAMESPACE, '-l', `gx.dev/deployment=${name}`);
  const [claim, ...others] = claims.items;
  expect(others).toEqual([]);
  await call(api, 'DELETE', `/v2/deployments/${original.id}`);
  await until(
    'the deployment is gone',
    async () => (await kubectl('get', 'gxd', name, '-n', NAMESPACE, '--ignore-not-found')) === '',
  );
  await kubectl(
    'delete',
    'pvc',
    claim?.metadata.name ?? '',
    '-n',
    NAMESPACE,
    '--wait=true',
    '--timeout=120s',
  );
  await until(
    'its volume is gone',
    async () =>
      (await kubectl('get', 'pv', claim?.spec.volumeName ?? '', '--ignore-not-found')) === '',
  );
});

test('a new deployment begins with the backup of the one that is gone, and goes on', async () => {
  const restore = { deployment_id: original.id, target: TARGET, resume: true };
  restored = await deploy(system, {
    name: `${name}-again`,
    graphs: name,
    encryptionKey,
    database: { restore },
  });
  const { client } = restored;
  const { asked, running, queued, delayed, cron, assistant } = held;

  expect((await client.assistants.get(assistant)).name).toBe('of the test');
  expect((await client.crons.search({})).map(({ cron_id }) => cron_id)).toEqual([cron]);
  await expect(client.threads.get(lateThread)).rejects.toThrow(/404/);
  expect(await client.threads.getState(asked)).toMatchObject({
    tasks: [{ interrupts: [{ value: 'What about the bridge?' }] }],
  });
  expect(
    await client.runs.wait(asked, 'asking', { command: { resume: 'paint it' } }),
  ).toMatchObject({ answer: 'paint it' });

  const isOver = async (thread: string, run: string): Promise<boolean> =>
    (await client.runs.get(thread, run)).status === 'success';
  await until('the run that was under way is over', () => isOver(running.thread, running.run), 300);
  await until('the queued run is over', () => isOver(running.thread, queued), 60);
  await until(
    'the delayed run is over',
    async () => (await client.threads.get(delayed)).status === 'idle' && isDone('delayed'),
    300,
  );
  const marks = await marksOf(restored);
  const nodes = (wanted: string) =>
    marks.filter(({ round }) => round === wanted).map(({ node }) => node);
  // The one under way goes on at its second step.
  for (const round of ['running', 'queued', 'delayed'])
    expect([round, nodes(round).toSorted()]).toEqual([round, ['first', 'second']]);
  expect(nodes('late')).toEqual([]);
});

const isDone = async (wanted: string): Promise<boolean> =>
  (await marksOf(restored)).some(({ round, node }) => round === wanted && node === 'second');

test('crons fire again, each tick once', async () => {
  // A tick that was missed is made up for in the minute of the restore, which may have one of its own.
  const since = new Date().toISOString();
  const ticks = async (): Promise<string[]> => {
    const marks = await marksOf(restored);
    return marks
      .filter(({ round, node, at }) => round === 'cron' && node === 'first' && at > since)
      .map(({ at }) => at.slice(0, 16));
  };
  await until('two came', async () => (await ticks()).length >= 2, 200);
  const minutes = await ticks();
  expect(minutes.toSorted()).toEqual([...new Set(minutes)].toSorted());
});
