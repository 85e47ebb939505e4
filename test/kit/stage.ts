import type { Kube } from '../../src/kube/kube.ts';
import { testNamespace } from './api-server.ts';
import { fakeKubelet, type FakeKubelet } from './fake-kubelet.ts';
import { look, operatorFor, type OperatorGiven, type RunningOperator } from './operator.ts';

type Running = { stop(): Promise<unknown> };

/** A namespace on an API server. What was started for it ends with it, the last first. */
export type Stage = {
  kube: Kube;
  namespace: string;
  kubeconfig: string;
  see: ReturnType<typeof look>;
  /** Starts a double of the kubelet for the pods of the namespace. */
  startKubelet(): FakeKubelet;
  /** Starts an operator for the namespace, with another kubeconfig if one is given. It leads when this resolves. */
  startOperator(given?: OperatorGiven & { kubeconfig?: string }): Promise<RunningOperator>;
  /** Makes something else end with the stage. */
  endWith<T extends Running>(running: T): T;
  stop(): Promise<void>;
};

export type OperatedStage = Stage & { operator: RunningOperator; kubelet: FakeKubelet };

/** Opens a stage on which nothing runs yet, on the API server of the run unless another one is given. */
export async function openStage(name: string, server?: string): Promise<Stage> {
  const { kube, namespace, kubeconfig } = await testNamespace(name, server);
  const running: Running[] = [{ stop: () => kube.close() }];
  const endWith = <T extends Running>(one: T): T => {
    running.unshift(one);
    return one;
  };
  return {
    kube,
    namespace,
    kubeconfig,
    see: look(kube, namespace),
    startKubelet: () => endWith(fakeKubelet(kube, namespace)),
    startOperator: async ({ kubeconfig: through = kubeconfig, ...given } = {}) => {
      const operator = endWith(await operatorFor({ namespace, kubeconfig: through }, given));
      await operator.leading;
      return operator;
    },
    endWith,
    stop: async () => {
      for (const one of running.splice(0)) await one.stop();
    },
  };
}

/** Opens a stage with an operator that leads, and a double of the kubelet for the pods. */
export async function setStage(name: string, given: OperatorGiven = {}): Promise<OperatedStage> {
  const stage = await openStage(name);
  const kubelet = stage.startKubelet();
  return { ...stage, kubelet, operator: await stage.startOperator(given) };
}
