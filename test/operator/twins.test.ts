import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kube.ts';
import { conditionOf, testNamespace } from '../kit/api-server.ts';
import { until } from '../kit/until.ts';
import { fakeKubelet, type FakeKubelet } from '../kit/fake-kubelet.ts';
import { newDeployment } from '../kit/objects.ts';
import { look, operatorFor, type RunningOperator } from '../kit/operator.ts';

/* One operator on two namespaces of one tenant, in which names of deployments are taken once, as those of their tracing projects. */
let [first, second]: Awaited<ReturnType<typeof testNamespace>>[] = [];
let operator: RunningOperator;
let kubelets: FakeKubelet[];

beforeAll(async () => {
  [first, second] = [await testNamespace('twin-a'), await testNamespace('twin-b')];
  kubelets = [first, second].map(({ kube, namespace }) => fakeKubelet(kube, namespace));
  operator = await operatorFor(first, { config: { namespaces: [first.namespace, second.namespace] } });
  await operator.leading;
});
afterAll(async () => {
  await operator.stop();
  for (const kubelet of kubelets) await kubelet.stop();
  for (const own of [first, second]) await own?.kube.close();
});

test('a deployment whose name is taken elsewhere says so, and goes on by itself once it is free', async () => {
  const [a, b] = [first, second].map((own) => own as Awaited<ReturnType<typeof testNamespace>>);
  if (a === undefined || b === undefined) throw new Error('no namespaces');
  await a.kube.create(kinds.deployment, newDeployment(a.namespace));
  await look(a.kube, a.namespace).untilReady('chat');
  const { metadata } = await look(a.kube, a.namespace).deployment('chat');
  // The older one keeps the name, and Kubernetes writes down whole seconds.
  await until('the next one is younger', () => Date.now() > Date.parse(metadata.creationTimestamp ?? '') + 1000);
  await b.kube.create(kinds.deployment, newDeployment(b.namespace));
  const there = look(b.kube, b.namespace);
  const reason = async (): Promise<string | undefined> =>
    (await there.deployment('chat')).status?.conditions?.find(({ type }) => type === 'Ready')?.reason;
  await until('it says so', async () => (await reason()) === 'TracingProjectTaken');
  expect(conditionOf(await there.deployment('chat'), 'Stalled')).toBe('True');
  // Its tracing project stays: with it nothing tells that the name is free.
  await a.kube.delete(kinds.deployment, { namespace: a.namespace, name: 'chat' });
  await there.untilReady('chat');
});
