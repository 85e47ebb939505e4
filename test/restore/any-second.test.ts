import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call, type Api } from '../../dev/run/control-plane.ts';
import type { BackupAnswer } from '../../src/schema/wire/backup-answer.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import {
  deploy,
  NAMESPACE,
  putGraphs,
  startStore,
  TARGET,
  type Agent,
  type Store,
} from './stage.ts';

/*
 * A deployment that keeps its log goes back to seconds of its own, and is cloned: with real pods, a real Postgres and a
 * real S3 server with TLS.
 */

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const name = `second-${Date.now().toString(36).slice(-5)}`;
const encryptionKey = randomBytes(32).toString('base64');
/** Milliseconds of one test. */
const LIMIT = 900_000;
/** Seconds that a copy or a verification may take, and a restore: two starts of the database and of the agents. */
const COPY = 300;
const RESTORE = 480;

let store: Store;
let agent: Agent;
let clone: Agent | undefined;
/** A thread that waits for an answer. */
let asked: string;
/** A moment after the first item was written, and one after the second. */
let first: Date;
let second: Date;

beforeAll(async () => {
  store = await startStore(system);
  await putGraphs(kubectl, name);
  agent = await deploy(system, {
    name,
    graphs: name,
    encryptionKey,
    backup: { target: TARGET, method: 'continuous' },
  });
});
afterAll(async () => {
  for (const one of [agent, clone])
    if (one !== undefined) await call(api, 'DELETE', `/v2/deployments/${one.id}?delete_data=true`);
  await kubectl('delete', 'configmap', name, '-n', NAMESPACE);
  await store.remove();
});

type Shown = {
  status: string;
  reason: string;
  message: string;
  from: string | null;
  former_volumes: { claim: string }[];
};
const shown = async (): Promise<Shown | null> =>
  (await call<{ restore: Shown | null }>(api, 'GET', `/v2/deployments/${agent.id}`)).restore;
const backups = async (): Promise<BackupAnswer[]> =>
  (await call<{ resources: BackupAnswer[] }>(api, 'GET', `/v2/deployments/${agent.id}/backups`))
    .resources;
/** The condition has the words of a failure. */
const condition = (): Promise<string> =>
  kubectl('get', 'gxd', name, '-n', NAMESPACE, '-o', 'jsonpath={.status.conditions}');
const items = async ({ client }: Agent): Promise<string[]> =>
  (await client.store.searchItems(['seconds'], { limit: 100 })).items
    .map(({ key }) => key)
    .toSorted();

/** Waits until there are so many copies, and `holds` is true of the newest. */
const copied = (
  count: number,
  holds: (copy: BackupAnswer) => boolean = () => true,
): Promise<BackupAnswer> =>
  until(
    `there are ${count} copies`,
    async () => {
      const [newest, ...others] = (await backups()).filter(({ status }) => status === 'Succeeded');
      if (newest === undefined || others.length < count - 1 || !holds(newest))
        throw new Error(await condition());
      return newest;
    },
    COPY,
  );

/** Writes an item, and returns a moment after it. Later items are of later seconds. */
async function write(item: string): Promise<Date> {
  await agent.client.store.putItem(['seconds'], item, { item });
  await wait(1200);
  const moment = new Date();
  await wait(1200);
  return moment;
}

/** Replaces the data by that of a moment, and waits until agents answer with it. */
async function goTo(moment: Date): Promise<Shown> {
  const before = (await shown())?.former_volumes.length ?? 0;
  const began = performance.now();
  await call(api, 'POST', `/v2/deployments/${agent.id}/restore`, {
    deployment_id: agent.id,
    at: moment.toISOString(),
  });
  const done = await until(
    'the restore is over, and the agents answer',
    async () => {
      const now = await shown();
      if (now?.status === 'False' || now === null || now.former_volumes.length === before)
        throw new Error(JSON.stringify(now));
      return now.status === 'True' && (await fetch(`${agent.url}/ok`)).ok && now;
    },
    RESTORE,
  );
  process.stdout.write(
    `back to a second after ${Math.round((performance.now() - began) / 1000)} s\n`,
  );
  return done;
}

test(
  'a copy is made at once and verified, and the operator tells how far the log is behind',
  async () => {
    const { client } = agent;
    asked = (await client.threads.create()).thread_id;
    await client.runs.wait(asked, 'asking', { input: { round: 'the bridge' } });
    await client.crons.create('stepping', {
      schedule: '0 0 1 1 *',
      input: { round: 'cron', milliseconds: 1 },
    });
    const copy = await copied(1, ({ verified_at }) => verified_at !== null);
    expect(copy).toMatchObject({ method: 'continuous', target: TARGET, message: null });

    const metrics = '/api/v1/namespaces/gx-system/services/gx-operator:http/proxy/metrics';
    const lag = await until('the lag is told', async () => {
      const line = (await kubectl('get', '--raw', metrics))
        .split('\n')
        .find(
          (one) => one.startsWith('gx_backup_archive_lag_seconds{') && one.includes(`"${name}"`),
        );
      return line === undefined ? undefined : Number(line.split(' ').at(-1));
    });
    // An idle database hands its log over every five minutes.
    expect(lag).toBeLessThan(330);
  },
  LIMIT,
);

test(
  'it goes back to a second, on a new volume, and a copy of that is made',
  async () => {
    first = await write('first');
    await agent.client.threads.delete(asked);
    second = await write('second');
    await write('third');
    const { from } = await goTo(first);
    expect(Date.parse(from ?? '')).toBeLessThanOrEqual(first.getTime());
    expect(await items(agent)).toEqual(['first']);
    expect(await agent.client.threads.getState(asked)).toMatchObject({
      tasks: [{ interrupts: [{ value: 'What about the bridge?' }] }],
    });
    // One was made of the data that was there, before it was replaced.
    await copied(3);
  },
  LIMIT,
);

test(
  'it goes to a second of the data that was replaced',
  async () => {
    await write('fourth');
    await goTo(second);
    expect(await items(agent)).toEqual(['first', 'second']);
    await expect(agent.client.threads.get(asked)).rejects.toThrow(/404/);
  },
  LIMIT,
);

test(
  'one field goes back to the former volume, a copy of which is made at once',
  async () => {
    const volumes = (await shown())?.former_volumes.map(({ claim }) => claim) ?? [];
    await call(api, 'POST', `/v2/deployments/${agent.id}/restore`, { volume: volumes.at(-1) });
    await until(
      'it is back',
      async () => (await shown())?.former_volumes.every(({ claim }) => claim !== volumes.at(-1)),
      RESTORE,
    );
    await until('the agents answer', async () => (await fetch(`${agent.url}/ok`)).ok, RESTORE);
    expect(await items(agent)).toEqual(['first', 'fourth']);
    await copied(6);
  },
  LIMIT,
);

test(
  'a clone has its data as it is now, and is quiet',
  async () => {
    await write('fifth');
    clone = await deploy(system, {
      name: `${name}-clone`,
      graphs: name,
      encryptionKey,
      database: { clone_of: agent.id },
    });
    expect(await items(clone)).toEqual(['fifth', 'first', 'fourth']);
    expect((await clone.client.crons.search({})).map(({ enabled }) => enabled)).toEqual([false]);
    expect((await agent.client.crons.search({})).map(({ enabled }) => enabled)).toEqual([true]);
    const answer = { command: { resume: 'paint it' } };
    expect(await clone.client.runs.wait(asked, 'asking', answer)).toMatchObject({
      answer: 'paint it',
    });
    expect(await agent.client.threads.getState(asked)).toMatchObject({
      tasks: [{ interrupts: [{ value: 'What about the bridge?' }] }],
    });
  },
  LIMIT,
);
