import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { POD_SECURITY } from '../../src/schema/platform/objects/labels.ts';
import { conditionOf } from '../kit/api-server.ts';
import { newDeployment } from '../kit/objects.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('open-pods');
});
afterAll(() => stage.stop());

test('a deployment says that its namespace takes pods of any kind, until the namespace enforces pod security', async () => {
  const { kube, namespace, see } = stage;
  const spec = { computeId: 'c', namespaces: [namespace] };
  await kube.create(kinds.deployment, newDeployment(namespace));
  await see.untilReady('chat');
  await kube.create(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'mine', namespace },
    spec,
  });
  const told = async () => conditionOf(await see.deployment('chat'), 'PodSecurityOpen');
  await until('it is told', async () => (await told()) === 'True');
  const labels = { [POD_SECURITY]: 'restricted' };
  await kube.apply(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels },
  });
  await until('it is no longer told', async () => (await told()) === undefined);
  expect(conditionOf(await see.deployment('chat'), 'Ready')).toBe('True');
});
