import { randomBytes } from 'node:crypto';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { fetchAgentKey, call, type Api } from '../../dev/run/control-plane.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { still, until } from '../kit/until.ts';
import { NAMESPACE, putGraphs } from './stage.ts';

/* A deployment is deleted, its data stays, and another one takes it over: with real pods and a real Postgres. */

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const kubectl = kubectlFor(system);
const name = `kept-${Date.now().toString(36).slice(-5)}`;
/** Milliseconds of one test. */
const LIMIT = 900_000;
/** Seconds that a start or an end of database and agents may take on a busy machine. */
const PATIENCE = 400;

beforeAll(async () => {
  await putGraphs(kubectl, name);
  await kubectl(
    'create',
    'secret',
    'generic',
    name,
    '-n',
    NAMESPACE,
    `--from-literal=GX_AES_KEY=${randomBytes(32).toString('base64')}`,
  );
});
afterAll(async () => {
  await kubectl('delete', 'gxd', name, '-n', NAMESPACE, '--ignore-not-found', '--wait=false');
  await kubectl('delete', `configmap/${name}`, `secret/${name}`, '-n', NAMESPACE);
});

type Found = { id: string; client: Client };

/** Applies the deployment, and waits until its agents answer. */
async function begin(
  annotations: Record<string, string>,
  deletionPolicy: 'Retain' | 'Delete',
): Promise<Found> {
  const resourceSpec = {
    volumes: [{ name: 'graph', configMap: { name } }],
    volumeMounts: [{ name: 'graph', mountPath: '/agent' }],
  };
  await kubectl.apply({
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Deployment',
    metadata: { name, namespace: NAMESPACE, annotations },
    spec: {
      source: 'external_container',
      deletionPolicy,
      template: {
        sourceRevisionConfig: { imageUri: system.image },
        resourceSpec,
        secretName: name,
      },
    },
  });
  await kubectl(
    'wait',
    `gxd/${name}`,
    '-n',
    NAMESPACE,
    '--for=condition=Ready',
    `--timeout=${PATIENCE}s`,
  );
  type Live = { metadata: { uid: string }; status: { url: string } };
  const { metadata, status } = await kubectl.json<Live>('get', 'gxd', name, '-n', NAMESPACE);
  const { id } = await until(
    'the control plane knows it',
    () => call<{ id: string }>(api, 'GET', `/v2/deployments/${metadata.uid}`),
    PATIENCE,
  );
  await until('it answers', async () => (await fetch(`${status.url}/ok`)).ok, PATIENCE);
  const apiKey = await fetchAgentKey(api, { id });
  return {
    id,
    client: new Client({ apiUrl: status.url, apiKey, callerOptions: { maxRetries: 0 } }),
  };
}

const left = async (kinds: string): Promise<string[]> => {
  const listed = await kubectl(
    'get',
    kinds,
    '-n',
    NAMESPACE,
    '-l',
    `gx.dev/deployment=${name}`,
    '-o',
    'name',
  );
  return listed.split('\n').filter(Boolean).toSorted();
};

async function end(): Promise<void> {
  await kubectl('delete', 'gxd', name, '-n', NAMESPACE, `--timeout=${PATIENCE}s`);
  await until('its pods are gone', async () => (await left('pods')).length === 0, PATIENCE);
}

let original: string;
let asked: string;
/** The volume claim of the data, and the Secrets without which nobody gets in. */
let kept: string[];

test(
  'a deployment is deleted and leaves its data, which another one of its name does not touch',
  async () => {
    const { id, client } = await begin({}, 'Retain');
    original = id;
    asked = (await client.threads.create()).thread_id;
    await client.runs.wait(asked, 'asking', { input: { round: 'the bridge' } });
    await end();
    kept = await still('the rest', () => left('pvc,secrets'));
    expect(kept.map((one) => one.split('/')[0])).toContain('persistentvolumeclaim');

    const { client: stranger } = await begin({}, 'Delete');
    expect(await stranger.threads.search({ limit: 10 })).toEqual([]);
    await end();
    await expect.poll(() => left('pvc,secrets'), { timeout: PATIENCE * 1000 }).toEqual(kept);
  },
  LIMIT,
);

test(
  'one with the annotation goes on with it: a thread that waits for an answer gets it',
  async () => {
    const { id, client } = await begin({ 'gx.dev/database-of': original }, 'Retain');
    expect(id).not.toBe(original);
    expect(await client.threads.getState(asked)).toMatchObject({
      tasks: [{ interrupts: [{ value: 'What about the bridge?' }] }],
    });
    expect(
      await client.runs.wait(asked, 'asking', { command: { resume: 'paint it' } }),
    ).toMatchObject({ answer: 'paint it' });
    expect(await left('pvc')).toEqual(
      kept.filter((one) => one.startsWith('persistentvolumeclaim/')),
    );
  },
  LIMIT,
);

test(
  "and the data is that one's by now: a deletion with the data removes it",
  async () => {
    const { metadata } = await kubectl.json<{ metadata: { uid: string } }>(
      'get',
      'gxd',
      name,
      '-n',
      NAMESPACE,
    );
    await call(api, 'DELETE', `/v2/deployments/${metadata.uid}?delete_data=true`);
    await expect.poll(() => left('pvc,secrets,pods'), { timeout: PATIENCE * 1000 }).toEqual([]);
  },
  LIMIT,
);
