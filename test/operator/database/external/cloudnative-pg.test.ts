import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kube } from '../../../../src/kube/kube.ts';
import { describeSecretFault } from '../../../../src/operator/database/external/secret.ts';
import { newDeployment } from '../../../kit/objects.ts';
import { ownersSecret } from '../../../kit/owners-secret.ts';
import { setStage, type OperatedStage } from '../../../kit/stage.ts';
import { until } from '../../../kit/until.ts';

/* The Secret that CloudNativePG writes for the owner of a cluster's database, as it is. */

let stage: OperatedStage;
let kube: Kube;
let namespace: string;
beforeAll(async () => {
  stage = await setStage('cluster-of-others');
  ({ kube, namespace } = stage);
});
afterAll(() => stage.stop());

type Pods = {
  spec: {
    template: {
      metadata: { annotations: Record<string, string> };
      spec: { containers: { env: object[] }[] };
    };
  };
};
const pods = async () => {
  const { spec } = (await stage.see.workload('orders-00001-api')) as unknown as Pods;
  return {
    address: spec.template.metadata.annotations['gx.dev/database-address'],
    env: spec.template.spec.containers[0]?.env,
  };
};
const isReady = async (): Promise<string | undefined> =>
  (await stage.see.deployment('orders')).status?.conditions?.find(
    ({ type }) => type === 'DatabaseReady',
  )?.reason;

test('agents take the address of its key, and another one after the Secret was made again and the deployment asks for a look', async () => {
  await kube.create(kinds.secret, ownersSecret('orders-db', namespace, 'former'));
  const database = { external: { secretName: 'orders-db-app' } };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name: 'orders' }, spec: { database } }),
  );
  await stage.see.untilReady('orders');
  const before = await pods();
  expect(before.env).toContainEqual({
    name: 'DATABASE_URI',
    valueFrom: { secretKeyRef: { name: 'orders-db-app', key: 'uri' } },
  });

  await kube.delete(kinds.secret, { namespace, name: 'orders-db-app' });
  await kube.create(kinds.secret, ownersSecret('orders-db', namespace, 'later'));
  expect(await isReady()).toBe('External');
  const now = { 'gx.dev/reconcile-requested-at': new Date().toISOString() };
  await kube.patchJson(kinds.deployment, { namespace, name: 'orders' }, [
    { op: 'add', path: '/metadata/annotations', value: now },
  ]);
  await until('the pods are replaced', async () => (await pods()).address !== before.address);
  expect((await stage.see.deployment('orders')).status?.latestRevision).toBe('orders-00001');
  await stage.see.untilReady('orders');
});

test('its keys uri and fqdn-uri are addresses, and those of other clients are refused with a sentence', () => {
  const { stringData } = ownersSecret('orders-db', 'team', 'canary');
  const data = Object.fromEntries(
    Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  const found = (key: string): string | undefined =>
    describeSecretFault({ secretName: 'orders-db-app', key }, data);
  expect([found('uri'), found('fqdn-uri')]).toEqual([undefined, undefined]);
  for (const key of ['jdbc-uri', 'fqdn-jdbc-uri', 'host', 'pgpass', 'password'])
    expect(found(key)).toMatch(
      new RegExp(
        `^Key ${key} of the Secret orders-db-app is not an address of the form postgresql://`,
      ),
    );
});
