import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { JsonPatch, Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { isRolledOut } from '../../src/operator/pods/workload-state.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { auditEvents } from '../kit/audit-log.ts';
import { still, until } from '../kit/until.ts';
import { newDeployment, settings } from '../kit/objects.ts';
import { look, metricOf, untilIdle, type RunningOperator } from '../kit/operator.ts';

/* An operator of another version takes over, with other images and settings. No pod may notice. */
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let see: ReturnType<typeof look>;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage('upgrade');
  ({ kube, namespace, see } = stage);
  stage.startKubelet();
});
afterAll(() => stage.stop());

const SERVING: Kind[] = [
  kinds.workload,
  kinds.statefulSet,
  kinds.service,
  kinds.networkPolicy,
  kinds.pod,
];

/** Returns every child with its version, its generation and its pods' identity. */
async function children(): Promise<string[]> {
  const lists = await Promise.all(SERVING.map((kind) => kube.listAll(kind, { namespace })));
  return lists
    .flat()
    .map(
      ({ kind, metadata }) =>
        `${kind} ${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`,
    );
}

/** Returns what the present operator wrote, except for its lease. */
const writes = (): string[] =>
  auditEvents(inject('auditLog'), operator.userAgent)
    .filter(
      ({ verb, objectRef }) =>
        !['get', 'list', 'watch'].includes(verb) && objectRef?.resource !== 'leases',
    )
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`);

const templates = async (): Promise<unknown[]> =>
  [
    ...(await kube.listAll(kinds.workload, { namespace })),
    ...(await kube.listAll(kinds.statefulSet, { namespace })),
  ].map(({ metadata, spec }: KubeObject) => [
    metadata.name,
    (spec as { template: object }).template,
  ]);

const newer = {
  databaseImage: 'gx-postgres:18',
  imagePullPolicy: 'Always' as const,
  drainSeconds: 7,
  profile: {
    ...settings().profile,
    cpu: 3,
    memoryMb: 2048,
    database: { ...settings().profile.database, memoryMb: 4096 },
  },
};

test('the same operator started again writes nothing', async () => {
  operator = await stage.startOperator({ identity: 'first' });
  await kube.create(kinds.deployment, newDeployment(namespace));
  await see.untilReady('chat');
  await see.untilPhase('chat-00001', 'DEPLOYED');
  await operator.stop();
  const before = await still('what Kubernetes makes of it', children);
  operator = await stage.startOperator({ identity: 'second' });
  await until(
    'it has looked at the deployment',
    async () => (await metricOf(operator, 'controller_runtime_reconcile_total')) >= 2,
  );
  await untilIdle(operator);
  expect(await children()).toEqual(before);
  expect(writes()).toEqual([]);
});

test('a newer one with other images and sizes restarts no pod: neither agents nor databases', async () => {
  await operator.stop();
  const before = await templates();
  const pods = (await still('what Kubernetes makes of it', children)).filter((child) =>
    child.startsWith('Pod'),
  );
  operator = await stage.startOperator({ identity: 'newer', settings: newer });
  await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, [
    { op: 'add', path: '/metadata/annotations', value: { 'gx.dev/reconcile-requested-at': 'now' } },
  ]);
  await until(
    'it has looked',
    async () => (await see.deployment('chat')).status?.lastHandledReconcileAt === 'now',
  );
  await see.untilReady('chat');
  expect(await templates()).toEqual(before);
  expect((await children()).filter((child) => child.startsWith('Pod'))).toEqual(pods);
});

const imageOfDatabase = async (): Promise<string | undefined> => {
  const { spec } = await kube.get(kinds.statefulSet, { namespace, name: 'chat-db' });
  return (spec as { template: { spec: { containers: { image: string }[] } } }).template.spec
    .containers[0]?.image;
};

test('a foreign change of a database that stays as it was is still undone', async () => {
  const known = await imageOfDatabase();
  await kube.patchJson(kinds.statefulSet, { namespace, name: 'chat-db' }, [
    {
      op: 'replace',
      path: '/spec/persistentVolumeClaimRetentionPolicy/whenScaled',
      value: 'Delete',
    },
  ]);
  await until('it is back', async () =>
    JSON.stringify(await kube.get(kinds.statefulSet, { namespace, name: 'chat-db' })).includes(
      '"whenScaled":"Retain"',
    ),
  );
  expect(await imageOfDatabase()).toBe(known);
});

test('the next revision is made by the newer settings, and the database by them when it is asked to', async () => {
  await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, [
    { op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: 'agent:2' },
  ]);
  await see.untilReady('chat');
  const { spec } = await see.workload('chat-00002-api');
  expect(JSON.stringify(spec)).toContain('"imagePullPolicy":"Always"');
  expect(await imageOfDatabase()).not.toBe('gx-postgres:18');
  await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, [
    { op: 'add', path: '/metadata/annotations/gx.dev~1renew-database', value: 'today' },
  ]);
  await until(
    'the database is asked for anew',
    async () => (await imageOfDatabase()) === 'gx-postgres:18',
  );
  expect(await imageOfDatabase()).toBe('gx-postgres:18');
});

describe('pods that stayed as a former operator made them', () => {
  const api = 'chat-00002-api';
  const newest = { ...newer, databaseImage: 'gx-postgres:19', imagePullPolicy: 'Never' as const };
  type Container = { image: string; imagePullPolicy: string };
  const agent = async (): Promise<Container | undefined> =>
    ((await see.workload(api)).spec as { template: { spec: { containers: Container[] } } }).template
      .spec.containers[0];
  const image = (value: string): JsonPatch => [
    { op: 'replace', path: '/spec/template/spec/containers/0/image', value },
  ];
  const forged: JsonPatch = [
    { op: 'replace', path: '/metadata/annotations/gx.dev~1template', value: 'forged' },
  ];

  beforeAll(async () => {
    await operator.stop();
    operator = await stage.startOperator({ identity: 'newest', settings: newest });
    await until(
      'it has looked at all',
      async () => (await metricOf(operator, 'controller_runtime_reconcile_total')) >= 3,
    );
    await still('what it makes of it', children);
    await untilIdle(operator);
  });

  test('restart by `kubectl rollout restart` as they are, without a write of the operator to them', async () => {
    const before = writes().filter((write) => write.includes(api));
    await kube.patchJson(kinds.workload, { namespace, name: api }, [
      {
        op: 'add',
        path: '/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt',
        value: '2026-01-01T00:00:00Z',
      },
    ]);
    await until('the pods are out again', async () => isRolledOut(await see.workload(api)));
    await see.untilReady('chat');
    await still('what the operator makes of it', children);
    expect(await agent()).toMatchObject({ image: 'agent:2', imagePullPolicy: 'Always' });
    expect(writes().filter((write) => write.includes(api))).toEqual(before);
  });

  test('are made anew, by the newest settings, once somebody changes what they are', async () => {
    await kube.patchJson(kinds.workload, { namespace, name: api }, image('evil:1'));
    await until('the image is back', async () => (await agent())?.image === 'agent:2');
    expect(await agent()).toMatchObject({ imagePullPolicy: 'Never' });
  });

  test('so, too, when the change came while no operator ran, with a forged hash beside it', async () => {
    await operator.stop();
    await kube.patchJson(kinds.workload, { namespace, name: api }, [...image('evil:2'), ...forged]);
    await kube.patchJson(kinds.statefulSet, { namespace, name: 'chat-db' }, [
      ...image('evil:3'),
      ...forged,
    ]);
    operator = await stage.startOperator({ identity: 'back', settings: newest });
    await until('the agents are back', async () => (await agent())?.image === 'agent:2');
    await until(
      'the database is back',
      async () => (await imageOfDatabase()) === newest.databaseImage,
    );
    await see.untilReady('chat');
    expect(JSON.stringify(await templates())).not.toContain('evil');
  });
});
