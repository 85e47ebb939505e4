import type { Kube } from '../../src/kube/kube.ts';
import { testNamespace } from './api-server.ts';
import { fakeKubelet, type FakeKubelet } from './fake-kubelet.ts';
import { look, operatorFor, type OperatorGiven, type RunningOperator } from './operator.ts';

export type Stage = { kube: Kube; namespace: string; operator: RunningOperator; kubelet: FakeKubelet; see: ReturnType<typeof look> };

/** A namespace of its own on the run's API server, with an operator that leads and a kubelet's double for the pods. */
export async function setStage(name: string, given: OperatorGiven = {}): Promise<Stage> {
  const own = await testNamespace(name);
  const { kube, namespace } = own;
  const kubelet = fakeKubelet(kube, namespace);
  const operator = await operatorFor(own, given);
  await operator.leading;
  return { kube, namespace, operator, kubelet, see: look(kube, namespace) };
}

export async function clearStage({ operator, kubelet, kube }: Pick<Stage, 'operator' | 'kubelet' | 'kube'>): Promise<void> {
  await operator.stop();
  await kubelet.stop();
  await kube.close();
}
