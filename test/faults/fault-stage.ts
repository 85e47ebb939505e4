import { setTimeout as wait } from 'node:timers/promises';
import { NotFound } from '../../src/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { createCaches, listWrittenKinds } from '../../src/operator/view/caches.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';
import { faultProxy, isWrite, type FaultProxy } from '../kit/fault-proxy.ts';
import type { OperatorGiven, RunningOperator } from '../kit/operator.ts';
import { operatorProcess, type OperatorProcess } from '../kit/operator-process.ts';
import { differences, faultsOf, type World } from './oracle.ts';

/** Seconds after the end of a fault within which everything must be as if there had been none. */
export const CONVERGED_WITHIN = 30;
/** Milliseconds to wait after everything looked right, to see what still happens. */
const STILL = 600;

const replicaSet: Kind = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  namespaced: true,
};
const KINDS = new Map(
  [
    ...listWrittenKinds(createCaches()).map(({ kind }) => kind),
    kinds.deployment,
    replicaSet,
    kinds.pod,
  ].map((kind) => [kind.plural + kind.apiVersion, kind]),
);

/**
 * A stage with a double of the kubelet, and a proxy in front of the API server that every operator goes through.
 * `kubeconfig` bypasses the proxy.
 */
export type FaultStage = Stage & {
  proxy: FaultProxy;
  /** Starts an operator in this process. It leads when this resolves. */
  operator(identity?: string, options?: OperatorGiven): Promise<RunningOperator>;
  /** Starts an operator in a process of its own, which must be awaited (`leading`). With `alone` it shares no lease. */
  process(
    identity: string,
    options?: { alone?: boolean; proxy?: FaultProxy; env?: Record<string, string> },
  ): OperatorProcess;
  world(): Promise<World>;
};

/** A cluster's own times, except that a released lease is taken up sooner. */
const LEASE = { duration: 15, renewDeadline: 10, retry: 0.5 };

export async function faultStage(name: string, kubeconfig?: string): Promise<FaultStage> {
  const stage = await openStage(name, kubeconfig);
  const { kube, namespace } = stage;
  const proxy = await faultProxy(stage.kubeconfig);
  stage.endWith({ stop: () => Promise.resolve(proxy.stop()) });
  stage.startKubelet();
  return {
    ...stage,
    proxy,
    operator: (identity = 'steady', options = {}) =>
      stage.startOperator({
        times: { lease: LEASE },
        ...options,
        identity,
        kubeconfig: proxy.kubeconfig,
      }),
    process: (identity, { alone = false, proxy: through = proxy, env } = {}) => {
      const lease = alone ? { lease: `gx-${identity}` } : {};
      const child = operatorProcess({
        kube,
        namespace,
        kubeconfig: through.kubeconfig,
        identity,
        ...lease,
        ...(env && { env }),
      });
      stage.endWith({ stop: () => child.kill() });
      return child;
    },
    world: async () => ({
      namespace,
      objects: await objectsIn(kube, namespace),
      journal: proxy.journal,
    }),
  };
}

async function objectsIn(kube: Kube, namespace: string): Promise<KubeObject[]> {
  // A kind that is no longer defined has no objects.
  const list = (kind: Kind): Promise<KubeObject[]> =>
    kube
      .listAll(kind, { namespace })
      .catch((error: unknown) => (error instanceof NotFound ? [] : Promise.reject(error)));
  const lists = await Promise.all([...KINDS.values()].map((kind) => list(kind)));
  return lists.flat();
}

/** Waits until there has been no write for a while. */
export const untilQuiet = ({ proxy }: Pick<FaultStage, 'proxy'>): Promise<true> =>
  until(
    'nothing is written any more',
    () => performance.now() - (proxy.journal.findLast(isWrite)?.at ?? 0) > 700,
  );

/** How a scenario went, as it is printed. */
export type Outcome = {
  scenario: string;
  seconds: number;
  requests: number;
  writes: number;
  faults: string[];
};

/**
 * Waits until everything is as after the fault-free run, and then for what might still happen. Returns what is wrong
 * then.
 */
export async function converged(
  scenario: string,
  { world, proxy }: Pick<FaultStage, 'world' | 'proxy'>,
  clean: World,
): Promise<Outcome> {
  const started = performance.now();
  const from = proxy.journal.length;
  const late = (): boolean => performance.now() - started > CONVERGED_WITHIN * 1000;
  await until(
    'the world is as without the fault',
    async () => late() || differences(await world(), clean).length === 0,
  );
  const seconds = (performance.now() - started) / 1000;
  await wait(STILL);
  const sent = proxy.journal.slice(from);
  const faults = faultsOf(await world(), clean);
  return {
    scenario,
    seconds,
    requests: sent.length,
    writes: sent.filter(isWrite).length,
    faults: late() ? ['not converged', ...faults] : faults,
  };
}

export function report(outcomes: Outcome[]): void {
  const line = ({ scenario, seconds, requests, writes, faults }: Outcome): string =>
    `${faults.length === 0 ? 'ok    ' : 'FAULT '} ${seconds.toFixed(1).padStart(5)} s ${String(requests).padStart(4)} requests ${String(writes).padStart(3)} writes  ${scenario}${faults.map((fault) => `\n         ${fault}`).join('')}`;
  process.stdout.write(`${outcomes.map(line).join('\n')}\n`);
}

/** Runs several at a time, because a scenario mostly waits. */
export async function inLanes<T, R>(
  items: T[],
  work: (item: T) => Promise<R>,
  lanes = 3,
): Promise<R[]> {
  const results: R[] = [];
  const rest = items.map((item, index) => [item, index] as const);
  const lane = async (): Promise<void> => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift())
      results[next[1]] = await work(next[0]);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
