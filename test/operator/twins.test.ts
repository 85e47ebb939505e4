import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { conditionOf } from '../kit/api-server.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';
import { newDeployment } from '../kit/objects.ts';

/* One operator works on two namespaces of one tenant. */
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

test('a deployment whose name an older one of its tenant has runs beside it, and says that they share a tracing project', async () => {
  const [a, b] = [first, second];
  const namespaces = [a.namespace, b.namespace];
  const metadata = { name: 'default', namespace: a.namespace };
  await a.kube.create(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata,
    spec: { computeId: 'c', namespaces },
  });
  await a.kube.create(kinds.deployment, newDeployment(a.namespace));
  await a.see.untilReady('chat');
  const { metadata: older } = await a.see.deployment('chat');
  // Kubernetes records whole seconds.
  await until(
    'the next one is younger',
    () => Date.now() > Date.parse(older.creationTimestamp ?? '') + 1000,
  );
  await b.kube.create(kinds.deployment, newDeployment(b.namespace));
  await b.see.untilReady('chat');
  const shared = async (stage: Stage) =>
    conditionOf(await stage.see.deployment('chat'), 'TracingProjectShared');
  expect([await shared(a), await shared(b)]).toEqual([undefined, 'True']);
  await a.kube.delete(kinds.deployment, { namespace: a.namespace, name: 'chat' });
  await until('the name is its own', async () => (await shared(b)) === undefined);
});

test('a deployment that claims the id of another one says so, and goes on once that is gone', async () => {
  const [a, b] = [first, second];
  const made = await a.kube.create(
    kinds.deployment,
    newDeployment(a.namespace, { metadata: { name: 'owner' } }),
  );
  const spec = { id: made.metadata.uid ?? '' };
  await b.kube.create(
    kinds.deployment,
    newDeployment(b.namespace, { metadata: { name: 'thief' }, spec }),
  );
  await until(
    'it says so',
    async () => (await b.see.deployment('thief')).status?.reason === 'IdTaken',
  );
  await a.see.untilReady('owner');
  expect(conditionOf(await b.see.deployment('thief'), 'Stalled')).toBe('True');
  await a.kube.delete(kinds.deployment, { namespace: a.namespace, name: 'owner' });
  await b.see.untilReady('thief');
});
