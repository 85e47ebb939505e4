import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kube.ts';
import { conditionOf } from '../kit/api-server.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';
import { newDeployment } from '../kit/objects.ts';

/*
 * One operator works on two namespaces of one tenant. A deployment's name can be taken only once in both, like the name
 * of its tracing project.
 */
let first: Stage;
let second: Stage;

beforeAll(async () => {
  [first, second] = [await openStage('twin-a'), await openStage('twin-b')];
  for (const stage of [first, second]) stage.startKubelet();
  await first.startOperator({ config: { namespaces: [first.namespace, second.namespace] } });
});
afterAll(async () => {
  for (const stage of [first, second]) await stage.stop();
});

test('a deployment whose name is taken elsewhere says so, and goes on by itself once it is free', async () => {
  const [a, b] = [first, second];
  await a.kube.create(kinds.deployment, newDeployment(a.namespace));
  await a.see.untilReady('chat');
  const { metadata } = await a.see.deployment('chat');
  // The older one keeps the name, and Kubernetes records whole seconds.
  await until('the next one is younger', () => Date.now() > Date.parse(metadata.creationTimestamp ?? '') + 1000);
  await b.kube.create(kinds.deployment, newDeployment(b.namespace));
  const there = b.see;
  const reason = async (): Promise<string | undefined> =>
    (await there.deployment('chat')).status?.conditions?.find(({ type }) => type === 'Ready')?.reason;
  await until('it says so', async () => (await reason()) === 'TracingProjectTaken');
  expect(conditionOf(await there.deployment('chat'), 'Stalled')).toBe('True');
  // Its tracing project stays, so no deleted project shows that the name is free.
  await a.kube.delete(kinds.deployment, { namespace: a.namespace, name: 'chat' });
  await there.untilReady('chat');
});
