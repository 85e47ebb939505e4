import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { call, type Api } from '../../dev/run/control-plane.ts';
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

/* A deployment is deleted with its data, and leaves a backup: with real pods, a real Postgres and a real S3 server. */

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const name = `last-${Date.now().toString(36).slice(-5)}`;
const encryptionKey = randomBytes(32).toString('base64');
/** Seconds that a deletion may wait for its backup: the agents stop, and a Job runs. */
const DELETION = 240;

let store: Store;
let original: Agent;
let restored: Agent;
let asked: string;
let busy: { thread: string; run: string };

beforeAll(async () => {
  store = await startStore(system);
  await putGraphs(kubectl, name);
  original = await deploy(system, { name, graphs: name, encryptionKey });
});
afterAll(async () => {
  await kubectl(
    'delete',
    'gxd',
    name,
    `${name}-again`,
    '-n',
    NAMESPACE,
    '--ignore-not-found',
    '--wait=false',
  );
  await kubectl('delete', 'configmap', name, '-n', NAMESPACE);
  await store.remove();
});

const objectsOf = (kind: string): Promise<string> =>
  kubectl('get', kind, '-n', NAMESPACE, '-l', `gx.dev/deployment=${name}`, '-o', 'name');

test('a deletion with the data backs it up first, and leaves nothing but the backup', async () => {
  const { client, id } = original;
  const source_config = { database_backup: { target: TARGET, before_deletion: true } };
  await call(api, 'PATCH', `/v2/deployments/${id}`, { source_config });
  asked = (await client.threads.create()).thread_id;
  await client.runs.wait(asked, 'asking', { input: { round: 'the bridge' } });
  const { thread_id: thread } = await client.threads.create();
  const { run_id: run } = await client.runs.create(thread, 'stepping', {
    input: { round: 'last', milliseconds: 90_000 },
  });
  busy = { thread, run };
  await until('the first step is over', async () =>
    (await marksOf(original)).some(({ round }) => round === 'last'),
  );

  const began = performance.now();
  await call(api, 'DELETE', `/v2/deployments/${id}?delete_data=true`);
  await until(
    'the deployment is gone',
    async () => {
      const left = await kubectl(
        'get',
        'gxd',
        name,
        '-n',
        NAMESPACE,
        '--ignore-not-found',
        '-o',
        'jsonpath={.status.conditions}',
      );
      if (left !== '') throw new Error(left);
      return true;
    },
    DELETION,
  );
  process.stdout.write(`deleted in ${Math.round((performance.now() - began) / 1000)} s\n`);
  await until(
    'its pods and its data are gone',
    async () => (await objectsOf('pod,pvc,statefulset')) === '',
  );
  const found = (await store.keys()).map((key) =>
    key.replace(/^gx\/[^/]+\//, '').replace(/\d{8}t\d{6}z/, 'TIME'),
  );
  expect(found).toEqual([`${id}/catalogue/TIME.json`, `${id}/dumps/TIME`, `${id}/owner.json`]);
});

test('a new deployment begins with it, and the run that the deletion has stopped goes on', async () => {
  const restore = { deployment_id: original.id, target: TARGET, resume: true };
  restored = await deploy(system, {
    name: `${name}-again`,
    graphs: name,
    encryptionKey,
    database: { restore },
  });
  const { client } = restored;
  expect(
    await client.runs.wait(asked, 'asking', { command: { resume: 'paint it' } }),
  ).toMatchObject({ answer: 'paint it' });
  await until(
    'the run is over',
    async () => (await client.runs.get(busy.thread, busy.run)).status === 'success',
    300,
  );
  const nodes = (await marksOf(restored))
    .filter(({ round }) => round === 'last')
    .map(({ node }) => node);
  expect(nodes.toSorted()).toEqual(['first', 'second']);
  expect(await client.threads.getState(busy.thread)).toMatchObject({
    values: { answer: 'last is over' },
  });
});
