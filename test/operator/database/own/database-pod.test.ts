import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OperatorSettings } from '../../../../src/config/platform/operator.ts';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../../src/kube/kube.ts';
import { openStage, type Stage } from '../../../kit/stage.ts';
import { until } from '../../../kit/until.ts';
import { newDeployment } from '../../../kit/objects.ts';
import { look, type RunningOperator } from '../../../kit/operator.ts';

/* The controller of sets is Kubernetes' own. It may leave a pod of a broken template where it is. */
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let see: ReturnType<typeof look>;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage('stuck');
  ({ kube, namespace, see } = stage);
  stage.startKubelet();
});
afterAll(() => stage.stop());

async function lead(identity: string, settings: Partial<OperatorSettings>): Promise<void> {
  operator = await stage.startOperator({ identity, settings });
}
const database = async (name: string): Promise<KubeObject | undefined> =>
  (await kube.listAll(kinds.pod, { namespace })).find(
    ({ metadata }) => metadata.name === `${name}-db-0`,
  );
const imageOf = (pod: KubeObject | undefined): string | undefined =>
  (pod?.spec as { containers: { image: string }[] } | undefined)?.containers[0]?.image;
const renew = (name: string, value: string): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/metadata/annotations', value: { 'gx.dev/renew-database': value } },
  ]);

test('a database whose pod never came up takes the mended image of the installation by itself', async () => {
  await lead('broken', { databaseImage: 'missing:1' });
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'new' } }));
  await until('its pod hangs', async () =>
    JSON.stringify(await see.deployment('new')).includes("can't be pulled"),
  );
  await operator.stop();
  await lead('mended', { databaseImage: 'gx-postgres:17' });
  await see.untilReady('new');
  expect(imageOf(await database('new'))).toBe('gx-postgres:17');
});

test('a database that is renewed to a broken image, and back, does not hang on its broken pod', async () => {
  await operator.stop();
  await lead('broken again', { databaseImage: 'missing:2' });
  await renew('new', 'broken');
  await until('its pod hangs', async () => imageOf(await database('new')) === 'missing:2');
  await until('that is told', async () =>
    JSON.stringify(await see.deployment('new')).includes('The image missing:2'),
  );
  await operator.stop();
  await lead('mended again', { databaseImage: 'gx-postgres:17' });
  await renew('new', 'mended');
  await see.untilReady('new');
  expect(imageOf(await database('new'))).toBe('gx-postgres:17');
});
