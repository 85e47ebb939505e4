import { beforeAll, expect, test } from 'vitest';
import { readOperatorConfig } from '../../../src/config/platform/operator.ts';
import type { OperatorSettings } from '../../../src/config/platform/operator.ts';
import type { Cache } from '../../../src/kube/cache.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { createCaches, type Caches } from '../../../src/operator/view/caches.ts';
import type { WorkQueue } from '../../../src/operator/kernel/queue.ts';
import { buildSettledOutcome } from '../../../src/operator/kernel/outcome.ts';
import { registerWakeUps } from '../../../src/operator/wake.ts';
import { BUILDER, deployment, fromGit, GIT } from '../../kit/objects.ts';
import { type DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import { COMPONENT } from '../../../src/schema/platform/objects/labels.ts';
import { cacheIn, paperCluster, type Reader } from '../../kit/paper-cluster.ts';
import { changed, type Read } from '../../kit/recorded-reads.ts';

/*
 * A reconcile must be woken by every field that it reads, or it would sleep through a change. Here the reconciles run
 * in many situations. The test records each field that they read, changes each, and requires that some change wakes the
 * reader.
 */

/** One situation in which a field was read: who read it, and everything that existed then. */
type Sample = { reader: Reader; key: string; read: Read; world: Caches };
/** The samples of each field, by `deployment reads Pod status.phase`. */
type Samples = Map<string, Sample[]>;

/** The number of samples of a field that are kept, for each value that it had. */
const SAMPLES = 3;
/** Fields that never change while an object has its name, and fields that change with everything else. */
const IDENTITY =
  /^(apiVersion|kind|metadata\.(name|namespace|uid|creationTimestamp|resourceVersion|generation))$/;

const kindOf = ({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): string =>
  apiVersion.startsWith('gx.dev/') ? `gx ${kind}` : kind;
/** Pods of different components wake different readers. */
const nameOf = (object: KubeObject): string =>
  object.kind === 'Pod' ? `${object.metadata.labels?.[COMPONENT]} Pod` : kindOf(object);

/** Names of entries differ from situation to situation. Those of conditions are fields of their own. */
const pathOf = ({ path }: Read): string => path.join('.').replaceAll('.[', '[');

/** Paper clusters whose reads are recorded. */
function recording() {
  const samples: Samples = new Map();
  const scene = (overrides: Partial<OperatorSettings> = {}) => {
    let world = createCaches();
    const onPass = (caches: Caches): void => void (world = copied(caches));
    const onRead = (reader: Reader, key: string, read: Read): void => {
      if (IDENTITY.test(pathOf(read))) return;
      const field = `${reader} reads ${nameOf(read.object)} ${pathOf(read)}`;
      const known = samples.get(field) ?? [];
      samples.set(field, known);
      const value = JSON.stringify(valueAt(read.object, read.path));
      const alike = known.filter(
        (sample) => JSON.stringify(valueAt(sample.read.object, sample.read.path)) === value,
      );
      if (alike.length < SAMPLES && alike.at(-1)?.world !== world)
        known.push({ reader, key, read, world });
    };
    return paperCluster({ onPass, onRead }, overrides);
  };
  return { samples, scene };
}

function copied(caches: Caches): Caches {
  const copy = createCaches();
  for (const [name, cache] of Object.entries(caches) as [keyof Caches, Cache][])
    for (const object of cache.list()) (copy[name] as unknown as Cache).addIfNewer(object, 'list');
  return copy;
}

const cacheOf = (caches: Caches, object: KubeObject): Cache => cacheIn(caches, object) as Cache;

const conditions = ['ReplicaFailure', 'DisruptionTarget'].map((type) => ({
  type,
  name: 'x',
  status: 'True',
}));

const plan = {
  madeAt: '2026-02-01T00:00:00Z',
  current: 'chat-00001',
  living: ['chat-00001'],
  draining: [],
};

/** Returns values that a field may have next. */
function nextOf(value: unknown, key: string): unknown[] {
  const replacement = {
    requestedAt: '2026-02-01T00:00:00Z',
    since: '2026-02-01T00:00:00Z',
    step: 'Restoring',
  };
  const name = key.split('/')[1] ?? '';
  const texts = [
    'True',
    'False',
    'DEPLOYED',
    'DEPLOY_FAILED',
    '2026-02-01T00:00:00Z',
    'false',
    name,
  ];
  if (typeof value === 'string') return [`${value}x`, undefined, ...texts];
  if (typeof value === 'number') return [value + 1, value - 1, 0, undefined];
  if (typeof value === 'boolean') return [!value, undefined];
  return ['x', true, 1, ...texts, {}, conditions, plan, replacement];
}

const valueAt = (object: KubeObject, path: string[]): unknown => {
  let found: unknown;
  let at: unknown = object;
  for (const segment of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    found = Array.isArray(at)
      ? (at as { [name: string]: unknown }[]).find((entry, index) =>
          [entry?.name, entry?.type, entry?.key, entry?.uid, String(index)].some(
            (known) => segment === `[${String(known)}]`,
          ),
        )
      : (at as { [name: string]: unknown })[segment];
    at = found;
  }
  return found;
};

let version = 1_000_000n;
const versioned = (object: KubeObject): KubeObject => {
  version += 1n;
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
};

/** Returns the keys that a change of an object puts into a queue. */
function wokenBy(world: Caches, before: KubeObject, after: KubeObject): Set<string> {
  const woken = new Set<string>();
  const queueOf = (name: string): WorkQueue =>
    ({
      add: (key: string) => woken.add(`${name} ${key}`),
      addAfter: () => undefined,
    }) as unknown as WorkQueue;
  const caches = copied(world);
  cacheOf(caches, before).addIfNewer(versioned(before));
  registerWakeUps(caches, {
    deployments: queueOf('deployment'),
    revisions: queueOf('revision'),
    listeners: queueOf('listener'),
  });
  try {
    cacheOf(caches, before).addIfNewer(versioned(after));
  } catch {
    // The API server would not store a value of this type there.
    return new Set();
  }
  return woken;
}

/** Says whether some change of the field wakes its reader. */
const wakes = ({ reader, key, read: { path, object }, world }: Sample): boolean =>
  nextOf(valueAt(object, path), key).some((value) => {
    const after = changed(object, path, value);
    if (after === undefined) return false;
    const { generation } = after.metadata;
    if (path[0] === 'spec' && generation !== undefined)
      after.metadata = { ...after.metadata, generation: generation + 1 };
    return wokenBy(world, object, after).has(`${reader} ${key}`);
  });

const unheard = (samples: Samples): string[] =>
  [...samples].filter(([, all]) => !all.some(wakes)).map(([field]) => field);

const KEY = 'team/chat';
type Scene = ReturnType<typeof recording>['scene'];
type Asked = Parameters<ReturnType<Scene>['ask']>[1];
const image =
  (imageUri: string): Asked =>
  ({ template }) => ({ template: { ...template, sourceRevisionConfig: { imageUri } } });

/** Brings a deployment up, then makes each change and gives it time to take effect. */
async function play(
  scene: ReturnType<Scene>,
  first: DeploymentResource,
  ...changes: Asked[]
): Promise<void> {
  scene.put(kinds.deployment, first);
  await scene.turns(4);
  for (const change of changes) {
    scene.ask(KEY, change);
    await scene.turns(4);
  }
}

const secret = (name: string, stringData: Record<string, string>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'team' },
  data: Object.fromEntries(
    Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  ),
});

async function playAll(scene: Scene): Promise<void> {
  await play(
    scene(),
    deployment(),
    image('agent:2'),
    image('mute:3'),
    image('missing:4'),
    () => ({ hibernate: true }),
    () => ({ hibernate: false }),
  );
  for (const first of ['crash:1', 'unplaced:1', 'held:1', 'unset:1', 'hungry:1', 'stuck:1'])
    await play(scene(), deployment({ image: first }));
  const built = scene({
    builder: { ...BUILDER, namespace: 'team' },
    gitIntegrations: [GIT],
    agentNamespaces: ['team'],
  });
  built.put(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'default', namespace: 'gx-system' },
    spec: { computeId: 'test', namespaces: ['team'] },
  });
  await play(built, deployment(fromGit('main')), ({ template }) => ({
    template: { ...template, sourceRevisionConfig: { repoRef: 'breaks' } },
  }));
  await play(
    scene(),
    deployment(),
    () => ({ database: { passwordRequestedAt: '2026-01-05T00:00:00Z' } }),
    () => ({ database: { podDisruptionBudget: true } }),
  );
  await play(
    scene(),
    deployment({ template: { resourceSpec: { minScale: 2, maxScale: 3, dbStorageGi: 10 } } }),
    () => ({ revisionHistoryLimit: 0 }),
    image('agent:2'),
    image('agent:3'),
  );
  const outside = scene();
  outside.put(kinds.secret, secret('managed', { uri: 'postgresql://agents@db.example/agents' }));
  await play(
    outside,
    deployment({ spec: { database: { external: { secretName: 'managed' } } } }),
    image('mute:2'),
  );
  const route = {
    kind: 'HTTPRoute',
    parentRefs: [{ name: 'public' }],
    host: '{name}.{namespace}.example.com',
  };
  const routed = scene(readOperatorConfig({ GX_ROUTE: JSON.stringify(route) }).settings);
  await play(routed, deployment(), () => ({ route: { path: '/v1' } }));
  const valued = scene();
  valued.put(kinds.secret, secret('env', { KEY: 'value' }));
  await play(valued, deployment({ template: { secretName: 'env' } }), image('agent:2'));
}

/** Fields that wake nobody by themselves, each with what wakes the reader instead. */
const HEARD_OTHERWISE: [RegExp, string][] = [
  [
    /^revision reads (database|password) Pod /,
    'The deployment hears of its database, and its condition DatabaseReady wakes its revisions.',
  ],
  [
    /^revision reads StatefulSet /,
    'The deployment hears of its database, and its condition DatabaseReady wakes its revisions.',
  ],
  [
    /^deployment reads gx Revision status\.specHash$/,
    'It is written once, and until then the hash in the spec stands for it.',
  ],
  [
    /^(deployment|revision) reads gx Listener /,
    'A namespace seldom changes hands, and a build that is refused needs another revision.',
  ],
  [
    / Pod status\.conditions\[Initialized\]\.reason$/,
    'A condition that holds is read for its type alone.',
  ],
];
const isHeardOtherwise = (field: string): boolean =>
  HEARD_OTHERWISE.some(([pattern]) => pattern.test(field));

let samples: Samples;

beforeAll(async () => {
  const recorder = recording();
  await playAll(recorder.scene);
  samples = recorder.samples;
  // It plays some hundred reconciles, and machines may be busy.
}, 120_000);

test('each field that a reconcile reads wakes it', () => {
  expect(samples.size).toBeGreaterThan(300);
  expect(unheard(samples).filter((field) => !isHeardOtherwise(field))).toEqual([]);
});

test('no exception stands for a field that nobody reads, or that wakes its reader by now', () => {
  const deaf = unheard(samples);
  expect(HEARD_OTHERWISE.filter(([pattern]) => !deaf.some((field) => pattern.test(field)))).toEqual(
    [],
  );
});

test('a reconcile that begins to read a field which wakes nobody is found', async () => {
  const recorder = recording();
  const scene = recorder.scene();
  await play(scene, deployment());
  recorder.samples.clear();
  await scene.pass('deployment', scene.caches.deployments, KEY, ({ caches }) => async () => {
    const workloads = caches.workloads.list();
    const unavailable = workloads.some(
      ({ status }) => (status as { unavailableReplicas?: number }).unavailableReplicas === 1,
    );
    return { outcome: buildSettledOutcome(`${unavailable}`), status: {}, statements: [] };
  });
  expect(unheard(recorder.samples)).toEqual([
    'deployment reads Deployment status.unavailableReplicas',
  ]);
});
