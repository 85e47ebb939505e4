import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { chooseEngine, listImageReferences } from '../../dev/images/build.ts';
import { call, type Api } from '../../dev/run/control-plane.ts';
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

/* A database moves to another major version of Postgres in place: with real pods and two images of Postgres. */

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const name = `major-${Date.now().toString(36).slice(-5)}`;
/** Seconds that a move may take: two starts of the database, two of the agents, and two Jobs. */
const MOVE = 300;

let store: Store;
let agent: Agent;
let first: string;
/** The image that the installation had. */
let former: string;
/** A thread that waits for an answer. */
let asked: string;

const VARIABLE = 'GX_POSTGRES_IMAGE';
async function setImage(image: string): Promise<void> {
  await kubectl('set', 'env', 'deploy/gx-operator', '-n', 'gx-system', `${VARIABLE}=${image}`);
  await kubectl('rollout', 'status', 'deploy/gx-operator', '-n', 'gx-system', '--timeout=180s');
}

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
  const path = `jsonpath={.spec.template.spec.containers[0].env[?(@.name=="${VARIABLE}")].value}`;
  former = await kubectl('get', 'deploy', 'gx-operator', '-n', 'gx-system', '-o', path);
});
afterAll(async () => {
  await setImage(former);
  await kubectl('delete', 'gxd', name, '-n', NAMESPACE, '--ignore-not-found', '--wait=false');
  await kubectl('delete', 'configmap', name, '-n', NAMESPACE);
  await store.remove();
});

const inDatabase = async (sql: string): Promise<string> =>
  (
    await kubectl(
      'exec',
      `${name}-db-0`,
      '-n',
      NAMESPACE,
      '-c',
      'postgres',
      '--',
      'psql',
      '-XAtqU',
      'postgres',
      '-c',
      sql,
      'gx',
    )
  ).trim();
const version = async (): Promise<number> =>
  Number.parseInt(await inDatabase('show server_version'), 10);
const podOf = (): Promise<string> =>
  kubectl('get', 'pod', `${name}-db-0`, '-n', NAMESPACE, '-o', 'jsonpath={.metadata.uid}');

type Shown = {
  status: string;
  reason: string;
  message: string;
  former_volumes: { claim: string }[];
};

/** Asks with the time of now, and waits until the agents serve from another volume. */
async function replace(restore: object): Promise<Shown> {
  const before = JSON.stringify((await shown())?.former_volumes ?? []);
  const value = { ...restore, replaceRequestedAt: new Date().toISOString() };
  const patch = JSON.stringify([{ op: 'add', path: '/spec/database/restore', value }]);
  await kubectl('patch', 'gxd', name, '-n', NAMESPACE, '--type=json', '-p', patch);
  return until(
    'the data is on another volume, and the agents answer',
    async () => {
      const now = await shown();
      if (now?.status !== 'True' || JSON.stringify(now.former_volumes) === before)
        throw new Error(JSON.stringify(now));
      return (await fetch(`${agent.url}/ok`)).ok && now;
    },
    MOVE,
  );
}
const shown = async (): Promise<Shown | null> =>
  (await call<{ restore: Shown | null }>(api, 'GET', `/v2/deployments/${agent.id}`)).restore;

test('under load, the data moves to a new volume with Postgres 18, and no accepted run is lost', async () => {
  const { client } = agent;
  asked = (await client.threads.create()).thread_id;
  await client.runs.wait(asked, 'asking', { input: { round: 'the bridge' } });
  expect(await version()).toBe(17);
  const pod = await podOf();
  await setImage(listImageReferences(await chooseEngine())['gx-postgres-18'] ?? '');
  expect([await podOf(), await version()]).toEqual([pod, 17]);

  const { accepted, refusal, stop } = startLoad(agent);
  await until('work was done', async () => (await marksOf(agent)).length > 4);
  const began = performance.now();
  const { former_volumes } = await replace({});
  process.stdout.write(
    `moved to Postgres 18 in ${Math.round((performance.now() - began) / 1000)} s\n`,
  );
  const count = accepted.length;
  await until('work is accepted again', () => {
    if (accepted.length <= count + 4) throw refusal();
    return true;
  });
  await stop();
  expect(await version()).toBe(18);
  [first = ''] = former_volumes.map(({ claim }) => claim);
  expect(former_volumes).toHaveLength(1);

  await until('every run is over', async () => {
    const executed = (await marksOf(agent))
      .filter(({ node }) => node === 'second')
      .map(({ round }) => round);
    return accepted.every((thread) => executed.includes(thread));
  });
  const marks = (await marksOf(agent)).map(({ round, node }) => `${round} ${node}`);
  expect(marks.length).toBe(new Set(marks).size);
  expect(await client.threads.getState(asked)).toMatchObject({
    tasks: [{ interrupts: [{ value: 'What about the bridge?' }] }],
  });
  expect(
    await client.runs.wait(asked, 'asking', { command: { resume: 'paint it' } }),
  ).toMatchObject({ answer: 'paint it' });
});

test('with the former image one field goes back to the former volume', async () => {
  await setImage(former);
  await replace({ volume: first });
  expect(await version()).toBe(17);
  expect(await agent.client.threads.getState(asked)).toMatchObject({
    tasks: [{ interrupts: [{ value: 'What about the bridge?' }] }],
  });
});
