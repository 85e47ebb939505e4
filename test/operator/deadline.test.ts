import { afterAll, beforeAll, expect, test } from 'vitest';
import { setTimeout as wait } from 'node:timers/promises';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import type { FakeKubelet } from '../kit/fake-kubelet.ts';
import { newDeployment } from '../kit/objects.ts';
import { look, type RunningOperator } from '../kit/operator.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';

/** The deadline in seconds. A rollout takes two here. The rest is for a machine that is busy with other work. */
const DEADLINE = 12;
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let kubelet: FakeKubelet;
let see: ReturnType<typeof look>;

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('deadline');
  ({ kube, namespace, operator, kubelet, see } = stage);
});
afterAll(() => stage.stop());

test('a rollout whose deadline ends while no operator runs goes on with the time that it had left', async () => {
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { spec: { progressDeadlineSeconds: 600 } }),
  );
  await see.untilReady('chat');
  // The pods of the next revision start while no operator looks.
  await kubelet.stop();
  await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, [
    { op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: 'agent:2' },
    { op: 'replace', path: '/spec/progressDeadlineSeconds', value: DEADLINE },
  ]);
  await see.untilPhase('chat-00002', 'DEPLOYING');
  await operator.stop();
  kubelet = stage.startKubelet();
  await wait((DEADLINE + 1) * 1000);
  operator = await stage.startOperator({ identity: 'later' });
  await see.untilReady('chat');
  expect((await see.revision('chat-00002')).status?.phase).toBe('DEPLOYED');
});
