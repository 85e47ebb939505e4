import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds, type Kube } from '../../src/kube/kube.ts';
import { until } from '../kit/api-server.ts';
import { newDeployment } from '../kit/objects.ts';
import { clearStage, setStage, type Stage } from '../kit/stage.ts';

const SECONDS = 8;
let stage: Stage;
let kube: Kube;
let namespace: string;
let see: Stage['see'];

beforeAll(async () => {
  stage = await setStage('history', { settings: { revisionHistoryDays: SECONDS / 86_400 } });
  ({ kube, namespace, see } = stage);
});
afterAll(() => clearStage(stage));

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
