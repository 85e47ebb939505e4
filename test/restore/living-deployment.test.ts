import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call, type Api } from '../../dev/run/control-plane.ts';
import type { BackupAnswer, BackupRequested } from '../../src/schema/wire/backup-answer.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { startLoad } from './load.ts';
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
 * The data of a deployment that serves is replaced by a backup, and comes back: with real pods, a real Postgres and a
 * real S3 server with TLS.
 */

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const name = `living-${Date.now().toString(36).slice(-5)}`;
const WRONG_SQL = `${name}-wrong`;
/** Seconds that a restore may take: two starts of the database, two of the agents, and three Jobs. */
const RESTORE = 300;

let store: Store;
let agent: Agent;
/** The claim that the deployment had first, and the one of the backup. */
let first: string;
let second: string;
/** A thread that waits for an answer in the backup. */
let asked: string;
let backup: BackupAnswer;
/** Threads whose runs were accepted before and after the data was replaced. */
let replaced: string[];
let written: string[];

beforeAll(async () => {
  store = await startStore(system);
  await putGraphs(kubectl, name);
  agent = await deploy(system, {
    name,
    graphs: name,
    encryptionKey: randomBytes(32).toString('base64'),
  });
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
  await kubectl(
    'create',
    'configmap',
    WRONG_SQL,
    '-n',
    NAMESPACE,
    '--from-literal=10.sql=delete from gx.no_such_table;',
  );
});
afterAll(async () => {
  await kubectl('delete', 'gxd', name, '-n', NAMESPACE, '--ignore-not-found', '--wait=false');
  await kubectl('delete', 'configmap', name, WRONG_SQL, '-n', NAMESPACE);
  await store.remove();
});

type Shown = {
  status: string;
  reason: string;
  message: string;
  backup: string | null;
  former_volumes: { claim: string }[];
};
const shown = async (): Promise<Shown | null> =>
  (await call<{ restore: Shown | null }>(api, 'GET', `/v2/deployments/${agent.id}`)).restore;
const backups = async (): Promise<BackupAnswer[]> =>
  (await call<{ resources: BackupAnswer[] }>(api, 'GET', `/v2/deployments/${agent.id}/backups`))
    .resources;
const claims = async (): Promise<string[]> => {
  const listed = await kubectl(
    'get',
    'pvc',
    '-n',
    NAMESPACE,
    '-l',
    `gx.dev/deployment=${name}`,
    '-o',
    'name',
  );
  return listed.trim().replaceAll('persistentvolumeclaim/', '').split('\n').toSorted();
};
const podsOf = async (component: string): Promise<string> =>
  kubectl(
    'get',
    'pods',
    '-n',
    NAMESPACE,
    '-l',
    `gx.dev/deployment=${name},gx.dev/component in (${component})`,
    '-o',
    'name',
  );
const isKnown = (thread: string): Promise<boolean> =>
  agent.client.threads.get(thread).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Error && error.message.includes('404')) return false;
      throw error;
    },
  );

/** Asks for a restore, and waits until it is done or was not. */
async function restore(
  body: object,
  isOver: (restore: Shown) => boolean,
): Promise<BackupRequested & Shown> {
  const requested = await call<BackupRequested>(
    api,
    'POST',
    `/v2/deployments/${agent.id}/restore`,
    body,
  );
  let last: Shown | null = null;
  await until(
    'the restore is over, and the agents answer',
    async () => {
      last = await shown();
      if (last === null || !isOver(last)) throw new Error(JSON.stringify(last));
      return (await fetch(`${agent.url}/ok`)).ok;
    },
    RESTORE,
  );
  return { ...requested, ...last! };
}

test('under load, the agents stop, their data is backed up, and they answer with the data of the backup', async () => {
  [first = ''] = await claims();
  asked = (await agent.client.threads.create()).thread_id;
  await agent.client.runs.wait(asked, 'asking', { input: { round: 'the bridge' } });
  await call(api, 'POST', `/v2/deployments/${agent.id}/backups`);
  backup = await until('there is a backup', async () =>
    (await backups()).find(({ status }) => status === 'Succeeded'),
  );
  // What the former volume has beyond the backup.
  await agent.client.runs.wait(asked, 'asking', { command: { resume: 'close it' } });

  const { accepted, refusal, stop } = startLoad(agent);
  await until('work was done', async () => (await marksOf(agent)).length > 4);
  const began = performance.now();
  const done = await restore({ backup: backup.name }, ({ status }) => status === 'True');
  process.stdout.write(`restored in ${Math.round((performance.now() - began) / 1000)} s\n`);
  const before = accepted.length;
  await until('work is accepted again', () => {
    if (accepted.length <= before + 4) throw refusal();
    return true;
  });
  await stop();

  expect(done.backup).toBe(`${agent.id}/${/\d{8}t\d{6}z$/.exec(backup.name)?.[0]}`);
  expect(done.former_volumes.map(({ claim }) => claim)).toEqual([first]);
  [second = ''] = (await claims()).filter((claim) => claim !== first);
  expect(await claims()).toEqual([first, second].toSorted());
  const saved = (await backups()).find(({ requested_at }) => requested_at === done.requested_at);
  expect(saved).toMatchObject({ status: 'Succeeded', target: TARGET });

  const known = await Promise.all(accepted.map(isKnown));
  const from = known.indexOf(true);
  [replaced, written] = [accepted.slice(0, from), accepted.slice(from)];
  // One moment parts them: nothing was written to two volumes.
  expect(known.slice(from)).not.toContain(false);
  expect([replaced.length > 4, written.length > 0]).toEqual([true, true]);
  const { client } = agent;
  expect(await client.threads.getState(asked)).toMatchObject({
    tasks: [{ interrupts: [{ value: 'What about the bridge?' }] }],
  });
  expect(
    await client.runs.wait(asked, 'asking', { command: { resume: 'paint it' } }),
  ).toMatchObject({ answer: 'paint it' });
});

test('a restore that fails leaves the data as it was, also if all had been stopped for it', async () => {
  const before = await claims();
  const failed = await restore(
    { backup: backup.name, sql_config_map: WRONG_SQL },
    ({ status }) => status === 'False',
  );
  expect(failed).toMatchObject({
    reason: 'RestoreFailed',
    message: expect.stringContaining('no_such_table') as string,
  });
  expect(failed.former_volumes.map(({ claim }) => claim)).toEqual([first]);
  await until(
    'the claim that was not filled is gone',
    async () => (await claims()).join() === before.join(),
  );
  expect(await agent.client.threads.getState(asked)).toMatchObject({
    values: { answer: 'paint it' },
    next: [],
  });
  expect(await Promise.all(written.map(isKnown))).not.toContain(false);
});

test('one field goes back to the former volume, on which each accepted run is executed once', async () => {
  const saved = (await backups()).length;
  const back = await restore({ volume: first }, ({ former_volumes }) =>
    former_volumes.some(({ claim }) => claim === second),
  );
  expect(back).toMatchObject({ status: 'True', former_volumes: [{ claim: second }] });
  expect(await agent.client.threads.getState(asked)).toMatchObject({
    values: { answer: 'close it' },
    next: [],
  });
  expect(await Promise.all(written.map(isKnown))).not.toContain(true);
  const missing = async (): Promise<string[]> => {
    const executed = (await marksOf(agent))
      .filter(({ node }) => node === 'second')
      .map(({ round }) => round);
    return replaced.filter((thread) => !executed.includes(thread));
  };
  await until('every run is over', async () => (await missing()).length === 0);
  const marks = (await marksOf(agent)).map(({ round, node }) => `${round} ${node}`);
  expect(marks.length).toBe(new Set(marks).size);
  // The volume of before stays, so nothing was backed up.
  expect(await backups()).toHaveLength(saved);
});

test('a deletion with the data deletes the former volume, too', async () => {
  await call(api, 'DELETE', `/v2/deployments/${agent.id}?delete_data=true`);
  await until('no claim is left', async () => (await claims()).join() === '');
  expect(await podsOf('database')).toBe('');
});
