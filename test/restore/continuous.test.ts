import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call, type Api } from '../../dev/run/control-plane.ts';
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
 * A database that keeps its log loses its volume again and again, under load. Each time a new deployment begins with
 * the newest second that came to the store: with real pods, a real Postgres and a real S3 server with TLS.
 */

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const name = `log-${Date.now().toString(36).slice(-5)}`;
const encryptionKey = randomBytes(32).toString('base64');
/** How often the volume is lost, and the seconds of committed writes that may be lost with it. */
const KILLS = Number(process.env.GX_TEST_KILLS ?? 10);
const MOST_LOST = 60;

let store: Store;
let agent: Agent;
/** A thread that waits for an answer from before the first loss on. */
let asked: string;

beforeAll(async () => {
  store = await startStore(system);
  await putGraphs(kubectl, name);
  agent = await deploy(system, {
    name: `${name}-0`,
    graphs: name,
    encryptionKey,
    backup: { target: TARGET, method: 'continuous' },
  });
  const thread = await agent.client.threads.create();
  await agent.client.runs.wait(thread.thread_id, 'asking', { input: { round: 'the bridge' } });
  asked = thread.thread_id;
});
afterAll(async () => {
  if (agent !== undefined)
    await call(api, 'DELETE', `/v2/deployments/${agent.id}?delete_data=true`);
  await kubectl('delete', 'configmap', name, '-n', NAMESPACE);
  await store.remove();
});

/** The condition has the words of a copy that failed. */
const untilBackedUp = (one: Agent): Promise<true> =>
  until(
    `${one.name} has a copy`,
    async () => {
      const path = 'jsonpath={.status.conditions[?(@.type=="BackedUp")]}';
      const condition = await kubectl('get', 'gxd', one.name, '-n', NAMESPACE, '-o', path);
      if (condition.includes('"status":"True"')) return true;
      throw new Error(condition);
    },
    600,
  );

type Written = { number: number; at: number };

/** Writes one item after the other, and notes when each was answered. */
async function write({ client }: Agent, round: number, signal: AbortSignal): Promise<Written[]> {
  const written: Written[] = [];
  for (let number = 0; !signal.aborted; number += 1) {
    await client.store.putItem(['load', String(round)], String(number), { number });
    written.push({ number, at: Date.now() });
    await wait(20);
  }
  return written;
}

const numbers = async ({ client }: Agent, round: number): Promise<number> => {
  const has = async (number: number): Promise<boolean> =>
    (await client.store.getItem(['load', String(round)], String(number))) !== null;
  // They were written in their order, so that those that are there are the first ones.
  let [there, gone] = [-1, 1];
  while (await has(gone)) [there, gone] = [gone, gone * 2];
  while (gone - there > 1) {
    const middle = Math.floor((there + gone) / 2);
    if (await has(middle)) there = middle;
    else gone = middle;
  }
  return there;
};

/** Deletes the files of the database at once, with the log that is not at the store yet. */
const lose = async (one: Agent): Promise<void> => {
  await kubectl(
    'exec',
    '-n',
    NAMESPACE,
    `${one.name}-db-0`,
    '-c',
    'guard',
    '--',
    'rm',
    '-rf',
    '/var/lib/postgresql/data/pgdata',
  );
};

test.each(Array.from({ length: KILLS }, (_, round) => round))(
  'the volume is lost (%i), and at most a minute of writes',
  async (round) => {
    await untilBackedUp(agent);
    const ends = new AbortController();
    const load = write(agent, round, ends.signal);
    // Longer than a part of the log is open, by another time in each round.
    await wait(35_000 + (round % 5) * 6000);
    ends.abort();
    const written = await load;
    await lose(agent);
    const lostAt = written.at(-1)?.at ?? 0;

    const former = agent;
    await call(api, 'DELETE', `/v2/deployments/${former.id}?delete_data=true`);
    await until(
      'it is gone',
      async () =>
        (await kubectl('get', 'gxd', former.name, '-n', NAMESPACE, '--ignore-not-found')) === '',
      180,
    );
    const restore = { deployment_id: former.id, target: TARGET, resume: true };
    const begun = Date.now();
    agent = await deploy(system, {
      name: `${name}-${round + 1}`,
      graphs: name,
      encryptionKey,
      database: { restore },
      backup: { target: TARGET, method: 'continuous' },
    });
    const last = await numbers(agent, round);
    const seconds = (lostAt - (written[last]?.at ?? 0)) / 1000;
    const back = Math.round((Date.now() - begun) / 1000);
    process.stdout.write(
      `round ${round}: ${written.length} writes, the last ${seconds.toFixed(1)} s were lost, back after ${back} s\n`,
    );
    expect(seconds).toBeLessThan(MOST_LOST);
    expect(last).toBeGreaterThanOrEqual(0);
  },
  1_500_000,
);

test('a thread that has waited for its answer since before the first loss gets it', async () => {
  const { client } = agent;
  expect(await client.threads.getState(asked)).toMatchObject({
    tasks: [{ interrupts: [{ value: 'What about the bridge?' }] }],
  });
  expect(
    await client.runs.wait(asked, 'asking', { command: { resume: 'paint it' } }),
  ).toMatchObject({ answer: 'paint it' });
});
