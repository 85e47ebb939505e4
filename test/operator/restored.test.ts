import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, KubeObject } from '../../src/kube/kube.ts';
import { newDeployment } from '../kit/objects.ts';
import { untilIdle, type RunningOperator } from '../kit/operator.ts';
import { openStage, type Stage } from '../kit/stage.ts';

/* A backup restores resources without their status. The operator then finds again what it had. */

let stage: Stage;
let operator: RunningOperator;
const OPERATOR = () => ({
  settings: { gateway: { service: 'gateway', namespace: stage.namespace } },
});

beforeAll(async () => {
  stage = await openStage('restored');
  stage.startKubelet();
  operator = await stage.startOperator(OPERATOR());
});
afterAll(() => stage.stop());

/** Makes a resource as a backup leaves it. */
async function loseStatus<T extends KubeObject>(kind: Kind<T>, name: string): Promise<void> {
  const { kube, namespace } = stage;
  const { status = {} } = (await kube.get(kind, { namespace, name })) as { status?: object };
  const none = Object.fromEntries(Object.keys(status).map((field) => [field, null]));
  await kube.patchStatus(kind, { namespace, name }, none);
}

/** Lists who is who, and every secret value. A lost status may change none of it. */
async function belongings(): Promise<string[]> {
  const { kube, namespace } = stage;
  const lists = await Promise.all(
    ([kinds.pod, kinds.statefulSet, kinds.workload, kinds.service, kinds.revision] as Kind[]).map(
      (kind) => kube.listAll(kind, { namespace }),
    ),
  );
  const secrets = (await kube.listAll(kinds.secret, { namespace })) as (KubeObject & {
    data?: object;
  })[];
  return [
    ...lists.flat().map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`),
    ...secrets.map(
      ({ metadata, data }) => `Secret ${metadata.name} ${metadata.uid} ${JSON.stringify(data)}`,
    ),
  ].toSorted();
}

const withoutTimes = ({
  conditions = [],
  rollout,
  ...status
}: NonNullable<Awaited<ReturnType<Stage['see']['deployment']>>['status']>) => ({
  ...status,
  rollout: { ...rollout, madeAt: undefined },
  conditions: conditions.map(({ type, status: holds, reason }) => `${type} ${holds} ${reason}`),
});

test('a deployment without a status keeps its data, its keys, its port and its pods, and reports the same as before', async () => {
  const { kube, namespace, see } = stage;
  const env = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'env', namespace },
    stringData: { KEY: 'value' },
  };
  await kube.create(kinds.secret, env);
  const template = {
    sourceRevisionConfig: { imageUri: 'agent:1' },
    secretName: 'env',
    resourceSpec: { minScale: 0, redisMemoryMb: 64 },
  };
  const spec = { database: { passwordRequestedAt: '2026-01-05T00:00:00Z' } };
  await kube.create(kinds.deployment, newDeployment(namespace, { template, spec }));
  await see.untilReady('chat');
  await see.untilPhase('chat-00001', 'DEPLOYED');
  await untilIdle(operator);
  const [before, had] = [(await see.deployment('chat')).status!, await belongings()];
  await operator.stop();
  await loseStatus(kinds.deployment, 'chat');
  await loseStatus(kinds.revision, 'chat-00001');
  operator = await stage.startOperator(OPERATOR());
  await see.untilPhase('chat-00001', 'DEPLOYED');
  await see.untilReady('chat');
  const same = withoutTimes(before);
  await expect.poll(async () => withoutTimes((await see.deployment('chat')).status!)).toEqual(same);
  expect(await belongings()).toEqual(had);
});
