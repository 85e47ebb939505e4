import { NotFound } from '../../src/errors.ts';
import type { OperatorSettings } from '../../src/config/platform/operator.ts';
import { Cache, buildObjectKey } from '../../src/kube/cache.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject, Ref } from '../../src/kube/kube.ts';
import { isOfKind } from '../../src/kube/object-key.ts';
import { BuildLooks } from '../../src/operator/branches/build-looks.ts';
import { reconcileDeployment } from '../../src/operator/deployment/reconcile.ts';
import { Limiter } from '../../src/http/limits/limiter.ts';
import { BuildTurns } from '../../src/operator/view/build-turns.ts';
import { TakenTurns } from '../../src/operator/view/taken-turns.ts';
import {
  listCachedRows,
  createCaches,
  listWrittenKinds,
  type Caches,
} from '../../src/operator/view/caches.ts';
import type { OperatorDeps } from '../../src/operator/view/deps.ts';
import { buildConditions } from '../../src/operator/kernel/conditions.ts';
import type { Reconcile } from '../../src/operator/kernel/controller.ts';
import { Writer } from '../../src/operator/kernel/writer.ts';
import { OPERATOR_KINDS } from '../../src/operator/kinds/table.ts';
import { trimPod } from '../../src/operator/pods/lean-pod.ts';
import { reconcileRevision } from '../../src/operator/revision/reconcile.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../src/schema/platform/resources/custom-resources.ts';
import { statusFor } from './fake-kubelet.ts';
import { silentLog } from './log.ts';
import { settings } from './objects.ts';
import { buildStandIn } from './stand-in.ts';
import { recorded, type Record } from './recorded-reads.ts';

/*
 * A cluster on paper: objects in memory, the real reconciles, and in turn what Kubernetes would make of their writes.
 * It has no time and no failures. It shows what a reconcile reads.
 */

export type Reader = 'deployment' | 'revision';
/** Called for each read, with whose reconcile read, its key, and what it read. */
export type OnRead = (reader: Reader, key: string, read: Parameters<Record>[0]) => void;
/** Called before each pass. */
export type OnPass = (caches: Caches) => void;

type Resource = DeploymentResource | RevisionResource;
type Stored = Map<string, KubeObject>;
type Template = {
  metadata: { labels: { [name: string]: string }; annotations: { [name: string]: string } };
  spec: Parameters<typeof statusFor>[0];
};

export function paperCluster(
  { onRead, onPass }: { onRead: OnRead; onPass: OnPass },
  overrides: Partial<OperatorSettings> = {},
) {
  const caches = createCaches();
  const unwatched = new Map<string, Stored>();
  let version = 0;
  const storeOf = ({ kind }: { kind: string }): Stored => {
    const known = unwatched.get(kind) ?? new Map<string, KubeObject>();
    unwatched.set(kind, known);
    return known;
  };
  const stored = <T extends object>(object: T): T => {
    const { metadata, ...rest } = object as unknown as KubeObject;
    version += 1;
    const { resourceVersion: _, ...given } = metadata;
    const uid = metadata.uid ?? `uid-${version}`;
    const whole = {
      ...rest,
      metadata: {
        creationTimestamp: '2026-01-01T00:00:00Z',
        generation: 1,
        uid,
        ...given,
        resourceVersion: String(version),
      },
    };
    return JSON.parse(JSON.stringify(whole)) as T;
  };
  const cacheOf = (kind: { apiVersion: string; kind: string }): Cache | undefined =>
    cacheIn(caches, kind);
  const put = (kind: Kind, object: KubeObject): KubeObject => {
    const made = stored(object);
    const cache = cacheOf(kind);
    if (cache === undefined) storeOf(kind).set(buildObjectKey(made.metadata), made);
    else cache.addIfNewer(made);
    return made;
  };
  const kube = {
    get: async (kind: Kind, ref: Ref) => {
      const found = storeOf(kind).get(buildObjectKey(ref));
      if (found === undefined) throw new NotFound(`${kind.kind} ${ref.name}`);
      return found;
    },
    find: async (kind: Kind, ref: Ref) => storeOf(kind).get(buildObjectKey(ref)),
    listAll: async (kind: Kind) => [...storeOf(kind).values()],
    create: async (kind: Kind, object: KubeObject) => put(kind, object),
    apply: async (kind: Kind, object: KubeObject) => put(kind, merged(cacheOf(kind), object)),
    patchJson: async (kind: Kind, ref: Ref) => storeOf(kind).get(buildObjectKey(ref)),
    delete: async (kind: Kind, ref: Ref) => {
      version += 1;
      storeOf(kind).delete(buildObjectKey(ref));
      return cacheOf(kind)?.remove(buildObjectKey(ref), BigInt(version)) ?? true;
    },
    readPodLog: async () => '',
  } as unknown as Kube;
  const now = new Date('2026-01-01T00:00:20Z');
  const pass = async <T extends Resource>(
    reader: Reader,
    cache: Cache<T>,
    key: string,
    reconcile: (deps: OperatorDeps) => Reconcile<T, NonNullable<T['status']>>,
  ): Promise<void> => {
    const object = cache.get(key);
    if (object === undefined) return;
    onPass(caches);
    const record: Record = (read) => onRead(reader, key, read);
    const seen = recordedCaches(caches, record);
    const writer = new Writer(kube, listWrittenKinds(caches));
    const deps: OperatorDeps = {
      kube,
      caches: seen,
      table: OPERATOR_KINDS,
      missing: buildStandIn({ has: () => false }),
      routeParents: buildStandIn({ features: undefined }),
      writer,
      settings: settings(overrides),
      branches: { look: () => undefined },
      buildLooks: new BuildLooks(() => undefined),
      gitPlaces: { isListed: () => true, resolveAddresses: async () => [] },
      buildTurns: new BuildTurns(),
      backupTurns: new Limiter(1),
      restartTurns: new TakenTurns(),
      ports: buildStandIn({ keep: async () => ({}) }),
      absences: () => [],
      work: {
        getSummary: () => undefined,
        queue: () => undefined,
        drain: () => undefined,
        getVerdict: () => undefined,
        getGateReport: () => undefined,
        getServer: () => undefined,
      },
    };
    const report = await reconcile(deps)(recorded(object, record), {
      signal: new AbortController().signal,
      log: silentLog(),
      now,
    });
    const at = { generation: object.metadata.generation ?? 0, now: now.toISOString() };
    const conditions = buildConditions(report, object.status?.conditions ?? [], at);
    const status = { ...report.status, conditions, observedGeneration: at.generation };
    cache.addIfNewer(stored({ ...object, status }));
  };
  /** Gives every workload and set the pods that it asks for, as a kubelet reports them. */
  const run = (): void => {
    for (const cache of [caches.workloads, caches.statefulSets])
      for (const workload of cache.list()) cache.addIfNewer(runPods(workload));
    const conditions = [
      {
        type: 'ScalingActive',
        status: 'False',
        reason: 'FailedGetContainerResourceMetric',
        message: 'no counts',
      },
    ];
    for (const scaler of caches.autoscalers.list())
      caches.autoscalers.addIfNewer(stored({ ...scaler, status: { conditions } }));
    for (const route of caches.httpRoutes.list())
      caches.httpRoutes.addIfNewer(stored({ ...route, status: { parents: accepted(route) } }));
    for (const job of storeOf(kinds.job).values())
      podOf(job, (job.spec as { template: Template }).template);
  };
  const podOf = (owner: KubeObject, template: Template): KubeObject => {
    const { metadata, spec } = template;
    const own = {
      ...metadata,
      name: `${owner.metadata.name}-0`,
      namespace: owner.metadata.namespace,
    };
    const pod = stored(
      trimPod({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: own as KubeObject['metadata'],
        status: statusFor({ restartPolicy: 'Always', ...spec }),
      }),
    );
    const before = caches.pods.get(buildObjectKey(pod.metadata));
    caches.pods.addIfNewer({
      ...pod,
      metadata: {
        ...pod.metadata,
        ...(before?.metadata.uid !== undefined && { uid: before.metadata.uid }),
      },
    });
    return pod;
  };
  const runPods = (workload: KubeObject): KubeObject => {
    const { replicas = 1, template } = workload.spec as { replicas?: number; template: Template };
    const pod = replicas === 0 ? undefined : podOf(workload, template);
    const isReady = JSON.stringify(pod?.status ?? {}).includes('"type":"Ready","status":"True"');
    const ready = isReady ? replicas : 0;
    if (replicas === 0) {
      version += 1;
      caches.pods.remove(
        `${workload.metadata.namespace}/${workload.metadata.name}-0`,
        BigInt(version),
      );
    }
    const counts = {
      replicas,
      updatedReplicas: replicas,
      availableReplicas: ready,
      readyReplicas: ready,
    };
    return stored({
      ...workload,
      status: { observedGeneration: workload.metadata.generation, ...counts },
    });
  };
  /** Changes the spec of a deployment, as a person does. */
  const ask = (
    key: string,
    change: (spec: DeploymentResource['spec']) => Partial<DeploymentResource['spec']>,
  ): void => {
    const { metadata, ...rest } = caches.deployments.get(key) as DeploymentResource;
    const spec = { ...rest.spec, ...change(rest.spec) };
    caches.deployments.addIfNewer(
      stored({
        ...rest,
        spec,
        metadata: { ...metadata, generation: (metadata.generation ?? 1) + 1 },
      }),
    );
  };
  /** Reconciles everything and lets Kubernetes act on it, so many times. */
  const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1) {
      for (const key of keysOf(caches.deployments))
        await pass('deployment', caches.deployments, key, reconcileDeployment);
      for (const key of keysOf(caches.revisions))
        await pass('revision', caches.revisions, key, reconcileRevision);
      run();
    }
  };
  put(kinds.endpointSlice, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'kubernetes', namespace: 'default' },
    endpoints: [{ addresses: ['10.0.0.1'] }],
  });
  return { caches, put, ask, turns, pass };
}

/** Returns the answers of the parents of a route. */
function accepted({ metadata, spec }: KubeObject): object[] {
  const answer = {
    reason: 'Accepted',
    message: '',
    observedGeneration: metadata.generation,
    status: 'True',
  };
  const conditions = ['Accepted', 'ResolvedRefs'].map((type) => ({ type, ...answer }));
  return (spec as { parentRefs: object[] }).parentRefs.map((parentRef) => ({
    parentRef,
    conditions,
  }));
}

const keysOf = <T extends KubeObject>(cache: Cache<T>): string[] =>
  cache.list().map(({ metadata }) => buildObjectKey(metadata));

/** Returns the first cache of a kind, or undefined if the kind is not watched. */
export const cacheIn = (
  caches: Caches,
  object: { apiVersion: string; kind: string },
): Cache | undefined =>
  listCachedRows(caches, OPERATOR_KINDS).find(({ row }) => isOfKind(object, row.kind))?.cache;

/** Returns an object as server-side apply leaves it if all fields are applied. Its status and identity stay. */
function merged(cache: Cache | undefined, object: KubeObject): KubeObject {
  const before = cache?.get(buildObjectKey(object.metadata));
  if (before === undefined) return object;
  const { generation = 1, uid, creationTimestamp } = before.metadata;
  const kept = {
    ...(uid !== undefined && { uid }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
  };
  return {
    ...before,
    ...object,
    metadata: { ...object.metadata, ...kept, generation: generation + 1 },
  };
}

/** Returns caches whose objects record what is read of them. */
function recordedCaches(caches: Caches, record: Record): Caches {
  const over = (cache: Cache): Cache => {
    const whole = (object: object | undefined) => object && recorded(object, record);
    return {
      get: (key: string) => whole(cache.get(key)),
      list: () => cache.list().map(whole),
      listByIndex: (index: string, value: string) => cache.listByIndex(index, value).map(whole),
      listKeysByIndex: (index: string, value: string) => cache.listKeysByIndex(index, value),
    } as unknown as Cache;
  };
  return Object.fromEntries(
    Object.entries(caches).map(([name, cache]) => [name, over(cache as Cache)]),
  ) as unknown as Caches;
}
