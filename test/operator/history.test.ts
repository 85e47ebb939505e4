import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds, type Kube } from '../../src/kube/kube.ts';
import { testNamespace, until } from '../kit/api-server.ts';
import { fakeKubelet, type FakeKubelet } from '../kit/fake-kubelet.ts';
import { newDeployment } from '../kit/objects.ts';
import { look, operatorFor, type RunningOperator } from '../kit/operator.ts';

const SECONDS = 8;
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let kubelet: FakeKubelet;
let see: ReturnType<typeof look>;

beforeAll(async () => {
  const own = await testNamespace('history');
  ({ kube, namespace } = own);
  kubelet = fakeKubelet(kube, namespace);
  see = look(kube, namespace);
  operator = await operatorFor(own, { settings: { revisionHistoryDays: SECONDS / 86_400 } });
  await operator.leading;
});
afterAll(async () => {
  await operator.stop();
  await kubelet.stop();
  await kube.close();
});

test('revisions go when they are old enough, though nothing else happens; the serving one and the one before it stay', async () => {
  const ref = { namespace, name: 'chat' };
  await kube.create(kinds.deployment, newDeployment(namespace));
  for (const image of ['agent:2', 'agent:3']) {
    await see.untilReady('chat');
    await kube.jsonPatch(kinds.deployment, ref, [{ op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: image }]);
  }
  await see.untilPhase('chat-00003', 'DEPLOYED');
  await see.untilReady('chat');
  const { metadata } = await see.deployment('chat');
  await until('the first one is gone', async () => (await kube.all(kinds.revision, { namespace })).length === 2, (SECONDS + 20) * 1000);
  expect((await kube.all(kinds.revision, { namespace })).map((revision) => revision.metadata.name)).toEqual(['chat-00002', 'chat-00003']);
  expect((await see.deployment('chat')).metadata.generation).toBe(metadata.generation);
});
