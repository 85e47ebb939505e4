import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { type DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { RECONCILE_NOW, ROTATE_KEY } from '../../src/schema/platform/objects/labels.ts';
import { newDeployment } from '../kit/objects.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/* Each deployment has a key, which the operator makes and changes, and which its pods get as files. */

const SECONDS = 6;

let stage: OperatedStage;

beforeAll(async () => {
  stage = await setStage('keys', { settings: { keyOverlapHours: SECONDS / 3600 } });
});
afterAll(() => stage.stop());

type Template = {
  metadata: { annotations: Record<string, string> };
  spec: {
    containers: { env: { name: string; value?: string }[]; volumeMounts: { name: string }[] }[];
    volumes: { name: string }[];
  };
};
const templateOf = ({ spec }: KubeObject): Template => (spec as { template: Template }).template;

/** Returns whether the pods of a workload get the key. */
function isClosed(workload: KubeObject): boolean {
  const { spec } = templateOf(workload);
  const [agent] = spec.containers;
  const parts = [
    agent?.env.some(({ name }) => name === 'GX_AGENT_KEY_FOLDER'),
    agent?.volumeMounts.some(({ name }) => name === 'gx-key'),
    spec.volumes.some(({ name }) => name === 'gx-key'),
  ];
  expect(new Set(parts).size).toBe(1);
  return parts[0] === true;
}

const deploy = async (name: string, auth?: object): Promise<void> => {
  const { kube, namespace, see } = stage;
  const sourceRevisionConfig = { imageUri: 'agent:1', ...(auth && { auth }) };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name }, template: { sourceRevisionConfig } }),
  );
  await see.untilReady(name);
};

/** Returns the keys of a deployment as they stand in its Secret. */
const keysOf = async (
  name: string,
): Promise<{ current?: string | undefined; previous?: string | undefined }> => {
  const secret = await stage.kube.find(kinds.secret, {
    namespace: stage.namespace,
    name: `${name}-key`,
  });
  const text = (key: string): string | undefined =>
    secret?.data?.[key] && Buffer.from(secret.data[key], 'base64').toString('utf8');
  return { current: text('api-key'), previous: text('previous') };
};

const annotate = (name: string, annotations: Record<string, string>): Promise<unknown> => {
  const metadata = { name, namespace: stage.namespace, annotations };
  return stage.kube.apply(kinds.deployment, {
    apiVersion: API_VERSION,
    kind: 'Deployment',
    metadata,
  } as DeploymentResource);
};

test('a deployment gets a key: a Secret that goes with it, and files in all its pods', async () => {
  const { kube, namespace, see } = stage;
  await deploy('first');
  const secret = await see.secret('first-key');
  expect(secret.metadata.labels).toMatchObject({
    'gx.dev/deployment': 'first',
    'gx.dev/secrets-of': 'first',
  });
  expect(Object.keys(secret.data ?? {})).toEqual(['api-key']);
  expect((await keysOf('first')).current).toMatch(/^gxa_[\w-]{43}$/);
  for (const half of ['api', 'queue'])
    expect(isClosed(await see.workload(`first-00001-${half}`))).toBe(true);
  expect((await see.deployment('first')).status?.keySecret).toBe('first-key');
  await kube.delete(kinds.deployment, { namespace, name: 'first' });
  await until('the Secret is gone', async () => (await keysOf('first')).current === undefined);
});

test('who may call is part of a revision: open agents get no key', async () => {
  await deploy('open', { mode: 'open' });
  expect(isClosed(await stage.see.workload('open-00001-api'))).toBe(false);
  expect((await stage.see.deployment('open')).status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Unauthenticated', status: 'True', reason: 'AskedFor' }),
  );
});

test.each([
  [
    { mode: 'open', issuer: 'https://id.example', audiences: ['agents'] },
    'auth.issuer: not while mode is open',
  ],
  [{ issuer: 'https://id.example' }, 'auth.audiences: required with an issuer'],
  [{ audiences: ['agents'] }, 'auth.audiences: only with an issuer'],
  [{ jwks: 'https://id.example/keys' }, 'auth.jwks: only with an issuer'],
  [{ roles: 'roles' }, 'auth.roles: only with an issuer'],
  [{ issuer: 'http://id.example', audiences: ['agents'] }, 'issuer'],
  [{ mode: 'closed' }, 'mode'],
])('the API server refuses %o', async (auth, sentence) => {
  const made = newDeployment(stage.namespace, { metadata: { name: 'bad' } });
  const sourceRevisionConfig = { imageUri: 'agent:1', auth: auth as never };
  const spec = { ...made.spec, template: { sourceRevisionConfig } };
  await expect(
    stage.kube.create(kinds.deployment, { ...made, spec }, { dryRun: true }),
  ).rejects.toThrow(sentence);
});

describe('a rotation', () => {
  test('makes a new key once; the one before it opens for some hours, and then goes', async () => {
    await deploy('turning');
    const { current: first } = await keysOf('turning');
    await annotate('turning', { [ROTATE_KEY]: 'monday' });
    await until('there is another key', async () => (await keysOf('turning')).current !== first);
    const { current: second, previous } = await keysOf('turning');
    expect([second, previous]).toEqual([expect.stringMatching(/^gxa_/), first]);
    await expect
      .poll(async () => (await stage.see.deployment('turning')).status)
      .toMatchObject({ keyRequest: 'monday' });
    await until(
      'the key before it is gone',
      async () => (await keysOf('turning')).previous === undefined,
    );
    await annotate('turning', { [ROTATE_KEY]: 'monday', [RECONCILE_NOW]: 'now' });
    await until(
      'it was reconciled',
      async () => (await stage.see.deployment('turning')).status?.lastHandledReconcileAt === 'now',
    );
    expect(await keysOf('turning')).toEqual({ current: second, previous: undefined });
    expect((await stage.see.deployment('turning')).status?.keyPreviousUntil).toBeUndefined();
  });

  test('restarts no pod', async () => {
    expect((await stage.see.workload('turning-00001-api')).metadata.generation).toBe(1);
  });
});

test('a Secret that somebody deleted is made again when a reconcile is asked for', async () => {
  const { kube, namespace } = stage;
  await deploy('lost');
  const { current: first } = await keysOf('lost');
  await kube.delete(kinds.secret, { namespace, name: 'lost-key' });
  await annotate('lost', { [RECONCILE_NOW]: 'now' });
  await until('there is a key again', async () => (await keysOf('lost')).current !== undefined);
  expect((await keysOf('lost')).current).not.toBe(first);
});
