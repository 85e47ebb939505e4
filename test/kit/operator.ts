import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../src/kube/kube.ts';
import { startOperator, type Operator, type OperatorOptions } from '../../src/operator/start.ts';
import type { OperatorMetrics } from '../../src/operator/kernel/metrics.ts';
import type { OperatorConfig, OperatorSettings } from '../../src/config/platform/operator.ts';
import type { Log } from '../../src/log.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../src/schema/platform/resources/custom-resources.ts';
import { until } from './until.ts';
import { silentLog } from './log.ts';
import { config, settings } from './objects.ts';

export type RunningOperator = Operator & { userAgent: string };

export type OperatorGiven = {
  identity?: string;
  settings?: Partial<OperatorSettings>;
  config?: Partial<OperatorConfig>;
  times?: OperatorOptions['times'];
  gateways?: OperatorOptions['gateways'];
  table?: OperatorOptions['table'];
  through?: (kube: Kube) => Kube;
  log?: Log;
};

/** Starts an operator for one namespace, on the API server of the run. */
export async function operatorFor(
  { namespace, kubeconfig }: { namespace: string; kubeconfig: string },
  options: OperatorGiven = {},
): Promise<RunningOperator> {
  const identity = options.identity ?? 'one';
  const userAgent = `gx-operator/${namespace}/${identity}`;
  const kube = await connect({ fieldManager: 'gx-operator', userAgent, kubeconfig });
  const operator = await startOperator({
    config: config({
      namespace,
      namespaces: [namespace],
      identity,
      settings: settings({
        imagePullPatienceSeconds: 1,
        agentNamespaces: options.config?.namespaces ?? [namespace],
        ...options.settings,
      }),
      ...options.config,
    }),
    kube: options.through?.(kube) ?? kube,
    log: options.log ?? silentLog(),
    signal: new AbortController().signal,
    ...(options.times && { times: options.times }),
    ...(options.gateways && { gateways: options.gateways }),
    ...(options.table && { table: options.table }),
  });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= operator.stop().then(() => kube.close()));
  return { ...operator, stop, userAgent };
}

/** Returns all metrics as a scrape reads them. */
export async function printed(metrics: Pick<OperatorMetrics, 'print'>): Promise<string> {
  const parts = await Array.fromAsync(metrics.print().body);
  return Buffer.concat(parts).toString();
}

/** Returns the sum of a metric of the operator over all its labels, or over the lines that have this label. */
export async function metricOf(
  { port }: Pick<Operator, 'port'>,
  name: string,
  label = '',
): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) && line.includes(label));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Waits until no work waits for the operator and none is under way. */
export const untilIdle = (operator: Pick<Operator, 'port'>): Promise<true> =>
  until('the operator is idle', async () => {
    const [waiting, active] = [
      await metricOf(operator, 'workqueue_depth'),
      await metricOf(operator, 'controller_runtime_active_workers'),
    ];
    return waiting + active === 0;
  });

/** Returns what a test asks of a namespace, in the words of the domain. */
export function look(kube: Kube, namespace: string) {
  const deployment = (name: string): Promise<DeploymentResource> =>
    kube.get(kinds.deployment, { namespace, name });
  const revision = (name: string): Promise<RevisionResource> =>
    kube.get(kinds.revision, { namespace, name });
  const workload = (name: string): Promise<KubeObject> =>
    kube.get(kinds.workload, { namespace, name });
  return {
    deployment,
    revision,
    workload,
    service: (name: string): Promise<KubeObject> => kube.get(kinds.service, { namespace, name }),
    secret: (name: string) => kube.get(kinds.secret, { namespace, name }),
    untilPhase: (name: string, phase: string, seconds?: number): Promise<true> =>
      until(
        `revision ${name} is ${phase}`,
        async () => (await revision(name)).status?.phase === phase,
        seconds,
      ),
    untilReady: (name: string, seconds?: number): Promise<true> =>
      until(
        `deployment ${name} is Ready`,
        async () => {
          const { metadata, status } = await deployment(name);
          const ready = status?.conditions?.find(({ type }) => type === 'Ready');
          return ready?.status === 'True' && ready.observedGeneration === metadata.generation;
        },
        seconds,
      ),
  };
}
