import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kube } from '../../../../src/kube/kube.ts';
import { until } from '../../../kit/until.ts';
import { newDeployment } from '../../../kit/objects.ts';
import { setStage, type OperatedStage } from '../../../kit/stage.ts';

/** The seconds after which a revision is too old. */
const SECONDS = 8;
let stage: OperatedStage;
let kube: Kube;
let namespace: string;
let see: OperatedStage['see'];

beforeAll(async () => {
  stage = await setStage('history', { settings: { revisionHistoryDays: SECONDS / 86_400 } });
  ({ kube, namespace, see } = stage);
});
afterAll(() => stage.stop());

test('revisions go when they are old enough, though nothing else happens; the serving one and the one before it stay', async () => {
  const ref = { namespace, name: 'chat' };
  await kube.create(kinds.deployment, newDeployment(namespace));
  for (const image of ['agent:2', 'agent:3']) {
    await see.untilReady('chat');
    await kube.patchJson(kinds.deployment, ref, [
      { op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: image },
    ]);
  }
  await see.untilPhase('chat-00003', 'DEPLOYED');
  await see.untilReady('chat');
  const { metadata } = await see.deployment('chat');
  await until(
    'the first one is gone',
    async () => (await kube.listAll(kinds.revision, { namespace })).length === 2,
    (SECONDS + 20) * 1000,
  );
  expect(
    (await kube.listAll(kinds.revision, { namespace })).map((revision) => revision.metadata.name),
  ).toEqual(['chat-00002', 'chat-00003']);
  expect((await see.deployment('chat')).metadata.generation).toBe(metadata.generation);
});

test('beyond their number revisions go, those that failed like the others; the serving one and the one before it stay', async () => {
  const own = await setStage('counted');
  const ref = { namespace: own.namespace, name: 'chat' };
  const revisions = async (): Promise<string[]> =>
    (await own.kube.listAll(kinds.revision, { namespace: own.namespace })).map(
      ({ metadata, status }) => {
        const { phase = '' } = (status ?? {}) as { phase?: string };
        return `${metadata.name} ${phase}`;
      },
    );
  const ends: [image: string, phase: string][] = [
    ['agent:2', 'DEPLOYED'],
    ['crash:3', 'DEPLOY_FAILED'],
    ['crash:4', 'DEPLOY_FAILED'],
    ['agent:5', 'DEPLOYED'],
    ['crash:6', 'DEPLOY_FAILED'],
  ];
  await own.kube.create(
    kinds.deployment,
    newDeployment(own.namespace, { spec: { revisionHistoryLimit: 1 } }),
  );
  await own.see.untilReady('chat');
  for (const [index, [image, phase]] of ends.entries()) {
    await own.kube.patchJson(kinds.deployment, ref, [
      { op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: image },
    ]);
    await own.see.untilPhase(`chat-0000${index + 2}`, phase);
  }
  const kept = [
    'chat-00002 DEPLOYED',
    'chat-00004 DEPLOY_FAILED',
    'chat-00005 DEPLOYED',
    'chat-00006 DEPLOY_FAILED',
  ];
  await until(
    'those beyond the limit are gone',
    async () => (await revisions()).join() === kept.join(),
  );
  expect(await revisions()).toEqual(kept);
  expect((await own.see.deployment('chat')).status).toMatchObject({
    activeRevision: 'chat-00005',
    phase: 'READY',
  });
  await own.stop();
});
