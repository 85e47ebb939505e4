import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, KubeObject } from '../../src/kube/kube.ts';
import { names } from '../../src/schema/names.ts';
import { newDeployment } from '../kit/objects.ts';
import { untilIdle } from '../kit/operator.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/* Labels and annotations of a resource spec on what a real API server holds, also when a later spec has others. */

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('labels', {
    settings: { objectKeys: { pods: [], services: ['dns.example/'], claims: ['backup.example/'] } },
  });
});
afterAll(() => stage.stop());

const all = (kind: Kind): Promise<KubeObject[]> =>
  stage.kube.listAll(kind, { namespace: stage.namespace });

/** Returns what each object of the deployment says under a key, as a label or an annotation. */
async function under(key: string): Promise<Record<string, string | undefined>> {
  const lists = await Promise.all(
    [kinds.workload, kinds.statefulSet, kinds.service, kinds.networkPolicy, kinds.volumeClaim].map(
      all,
    ),
  );
  return Object.fromEntries(
    lists
      .flat()
      .map(({ kind, metadata }) => [
        `${kind} ${metadata.name}`,
        metadata.labels?.[key] ?? metadata.annotations?.[key],
      ]),
  );
}
const said = async (key: string): Promise<(string | undefined)[]> => [
  ...new Set(Object.values(await under(key))),
];
const claim = async (): Promise<KubeObject> => (await all(kinds.volumeClaim))[0]!;
const databasePod = (): Promise<KubeObject> =>
  stage.kube.get(kinds.pod, { namespace: stage.namespace, name: `${names.database('chat')}-0` });
const ask = (resourceSpec: object): Promise<unknown> =>
  stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name: 'chat' }, [
    { op: 'replace', path: '/spec/template/resourceSpec', value: resourceSpec },
  ]);

test('they reach every object, follow the newest spec, and leave with it; the database keeps its pod', async () => {
  const { kube, namespace, see, operator } = stage;
  const first = {
    labels: { team: 'a' },
    annotations: { 'dns.example/name': 'chat', 'backup.example/keep': 'a year' },
  };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name: 'chat' }, template: { resourceSpec: first } }),
  );
  await see.untilReady('chat');
  await until('the claim has them', async () => (await claim()).metadata.labels?.['team'] === 'a');
  expect(await said('team')).toEqual(['a']);
  const service = `Service ${names.service('chat')}`;
  const onlyAt = async (key: string): Promise<string[]> =>
    Object.entries(await under(key)).flatMap(([at, value]) => (value === undefined ? [] : [at]));
  expect(await onlyAt('dns.example/name')).toEqual([service]);
  expect(await onlyAt('backup.example/keep')).toEqual([
    `PersistentVolumeClaim ${(await claim()).metadata.name}`,
  ]);
  const pod = await databasePod();

  const { name } = (await claim()).metadata;
  await kube.patchJson(kinds.volumeClaim, { namespace, name }, [
    { op: 'add', path: '/metadata/labels/theirs', value: 'kept' },
  ]);
  await ask({ labels: { team: 'b' } });
  await see.untilPhase('chat-00002', 'DEPLOYED');
  await until('shared objects have the new ones', async () => {
    const { [service]: ofService, [`StatefulSet ${names.database('chat')}`]: ofDatabase } =
      await under('team');
    return ofService === 'b' && ofDatabase === 'b';
  });
  await until('the claim has them', async () => (await claim()).metadata.labels?.['team'] === 'b');
  // The workloads of each revision say what its own spec says.
  const teams = await under('team');
  expect(teams[`Deployment ${names.apiWorkload('chat-00002')}`]).toBe('b');
  expect(await onlyAt('dns.example/name')).toEqual([]);
  expect(await onlyAt('backup.example/keep')).toEqual([]);
  expect((await databasePod()).metadata.uid).toBe(pod.metadata.uid);

  await ask({});
  await see.untilReady('chat');
  await until(
    'the claim has none',
    async () => (await see.deployment('chat')).status?.claimWords === undefined,
  );
  const { labels, annotations } = (await claim()).metadata;
  expect(labels).toMatchObject({ theirs: 'kept', 'gx.dev/deployment': 'chat' });
  expect([labels?.['team'], annotations?.['gx.dev/given']]).toEqual([undefined, undefined]);
  await untilIdle(operator);
});
