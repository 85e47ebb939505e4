import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Unavailable } from '../../src/errors.ts';
import { Cache } from '../../src/kube/cache.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../src/kube/kube.ts';
import { Reflector } from '../../src/kube/watch.ts';
import { parseImageRepository } from '../../src/operator/revision/image-name.ts';
import { silentLog } from './log.ts';
import { stagedStatus } from './status-of-stages.ts';

/*
 * A double of scheduler and kubelet. It runs nothing, and reports to the API server what they would report of pods, by
 * the words in image names: `missing` can't be pulled, `crash` ends again and again, `hungry` is killed for its memory,
 * `stuck` can't migrate, `unset` lacks a Secret, `unplaced` finds no node, `held` waits for a volume, `mute` never
 * becomes ready, `silent` has no status at all, and all others are ready. Pods that are not to be restarted have
 * succeeded, but builds depend on the ref that they build: `waits` is left to the test, `runs` does not end, `breaks`
 * fails, `mumbles` names no image, and all others are built.
 */

export type FakeKubelet = { stop(): Promise<void> };

/** Returns the digest that an image has in the registry of these tests: its own, or one made from its name. */
export const digestFor = (image: string): string =>
  image.split('@')[1] ?? `sha256:${createHash('sha256').update(image).digest('hex')}`;
export const DIGEST = digestFor('agent:1');

export function fakeKubelet(kube: Kube, namespace: string): FakeKubelet {
  const cache = new Cache();
  const log = silentLog();
  const nobody = { relisted() {}, missed() {} };
  const reflector = new Reflector({
    kube,
    kind: kinds.pod,
    cache,
    namespace,
    log,
    observer: nobody,
  });
  const stopped = new AbortController();
  cache.addChangeListener(({ after }) => {
    if (after !== undefined && after.metadata.deletionTimestamp === undefined)
      void report(kube, after, stopped.signal);
  });
  reflector.start();
  return {
    stop: () => {
      stopped.abort();
      return reflector.stop();
    },
  };
}

type Variable = { name: string; value?: string };
type Container = { name: string; image: string; env?: Variable[] };
type Spec = {
  initContainers?: Container[];
  containers: Container[];
  restartPolicy?: string;
  nodeSelector?: { pool?: string };
};

/** Reports until it succeeds, as a kubelet does while the API server is away. */
async function report(kube: Kube, pod: KubeObject, signal: AbortSignal): Promise<void> {
  const status = pod.status as { containerStatuses?: unknown[] };
  if (status.containerStatuses !== undefined) return;
  if ((pod.spec as Spec).containers.some(({ image }) => image.includes('silent'))) return;
  const { name, namespace } = pod.metadata;
  if (refOf(pod.spec as Spec).includes('waits')) return;
  while (!signal.aborted) {
    try {
      await kube.patchStatus(kinds.pod, { namespace, name }, statusFor(pod.spec as Spec));
      return;
    } catch (error) {
      if (!(error instanceof Unavailable)) return;
      await wait(200);
    }
  }
}

/** Returns what a kubelet reports of a pod with this spec. */
export function statusFor(spec: Spec): object {
  const { containers, restartPolicy, nodeSelector } = spec;
  if (refOf(spec) !== '') return buildFor(spec);
  if (restartPolicy !== 'Always') return ended(containers);
  if (containers.some(({ image }) => image.includes('unplaced'))) {
    const message = '0/3 nodes are available: insufficient memory.';
    return {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
    };
  }
  // No node is of this pool.
  if (nodeSelector?.pool === 'nowhere') {
    const message = "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.";
    return {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
    };
  }
  const statuses = containers.map(({ name, image }) => ({ name, image, ...stateFor(image) }));
  const isReady = statuses.every((status) => status.ready);
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const condition = (type: string, holds: boolean) => ({
    type,
    status: holds ? 'True' : 'False',
    lastTransitionTime: now,
  });
  return {
    phase: 'Running',
    podIP: '10.1.0.1',
    startTime: now,
    conditions: [
      condition('PodScheduled', true),
      condition('Initialized', true),
      condition('ContainersReady', isReady),
      condition('Ready', isReady),
    ],
    containerStatuses: statuses,
  };
}

const valueIn = ({ initContainers = [], containers }: Spec, wanted: string): string =>
  [...initContainers, ...containers]
    .flatMap(({ env = [] }) => env)
    .find(({ name }) => name === wanted)?.value ?? '';
const refOf = (spec: Spec): string => valueIn(spec, 'GX_GIT_REF');

export const COMMIT = 'c0ffee0'.padEnd(40, '1');

function buildFor(spec: Spec): object {
  const ref = refOf(spec);
  if (ref.includes('runs')) return stagedStatus({ running: 'build' });
  const failure = { reason: 'InstallFailed', message: 'npm ci failed' };
  if (ref.includes('breaks'))
    return stagedStatus({ failed: 'build', message: JSON.stringify(failure) });
  const image = `${valueIn(spec, 'GX_IMAGE')}@${DIGEST}`;
  return stagedStatus({
    succeeded: {
      clone: { commit: COMMIT },
      ...(!ref.includes('mumbles') && { push: { image, commit: COMMIT } }),
    },
  });
}

/** Returns the status of a pod that has succeeded. */
const ended = (containers: Spec['containers']): object => ({
  phase: 'Succeeded',
  conditions: [],
  containerStatuses: containers.map(({ name, image }) => ({
    name,
    image,
    imageID: '',
    ready: false,
    restartCount: 0,
    state: { terminated: { reason: 'Completed', exitCode: 0 } },
  })),
});

const crashed = (reason: string, exitCode: number) => ({
  ready: false,
  restartCount: 4,
  imageID: '',
  state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } },
  lastState: { terminated: { reason, exitCode } },
});

function stateFor(image: string) {
  const running = { running: { startedAt: '2026-01-01T00:00:00Z' } };
  if (image.includes('missing')) {
    return {
      ready: false,
      restartCount: 0,
      imageID: '',
      state: { waiting: { reason: 'ImagePullBackOff', message: 'not found' } },
    };
  }
  if (image.includes('crash')) return crashed('Error', 1);
  if (image.includes('stuck')) return crashed('Error', 3);
  if (image.includes('unset')) {
    const waiting = {
      reason: 'CreateContainerConfigError',
      message: 'secret "chat-env" not found',
    };
    return { ready: false, restartCount: 0, imageID: '', state: { waiting } };
  }
  if (image.includes('held'))
    return {
      ready: false,
      restartCount: 0,
      imageID: '',
      state: { waiting: { reason: 'ContainerCreating' } },
    };
  if (image.includes('hungry')) return crashed('OOMKilled', 137);
  const ready = !image.includes('mute');
  return {
    ready,
    started: true,
    restartCount: 0,
    imageID: `${parseImageRepository(image)}@${digestFor(image)}`,
    state: running,
  };
}
