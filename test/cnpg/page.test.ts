import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { kubectlFor } from '../kit/kubectl.ts';
import { ownersSecret } from '../kit/owners-secret.ts';
import { deployOrders, NAMESPACE, rotateUnderLoad, typed } from './rotation-under-load.ts';
import { MANIFEST } from './release.ts';

/* The page on CloudNativePG, with its operator. */

const system = inject('system');
const kubectl = kubectlFor(system);

beforeAll(async () => {
  await kubectl('apply', '--server-side', '-f', MANIFEST);
  await kubectl(
    'rollout',
    'status',
    'deploy/cnpg-controller-manager',
    '-n',
    'cnpg-system',
    '--timeout=300s',
  );
  await typed(system, 'kubectl -n $NAMESPACE apply -f - <<EOF\napiVersion: postgresql.cnpg.io/v1');
});
afterAll(async () => {
  await kubectl('delete', 'gxd', 'orders', '-n', NAMESPACE, '--ignore-not-found', '--timeout=120s');
  await kubectl(
    'delete',
    'clusters.postgresql.cnpg.io',
    'orders-db',
    '-n',
    NAMESPACE,
    '--ignore-not-found',
    '--timeout=120s',
  );
});

test('the Secret of a cluster has the keys that the system tests take it to have', async () => {
  const { data } = await kubectl.json<{ data: object }>(
    'get',
    'secret',
    'orders-db-app',
    '-n',
    NAMESPACE,
  );
  const { stringData } = ownersSecret('orders-db', NAMESPACE, 'none');
  expect(Object.keys(data).toSorted()).toEqual(Object.keys(stringData).toSorted());
});

test('the deployment of the page uses it, and another password loses no run', async () => {
  await typed(system, 'kubectl -n $NAMESPACE apply -f - <<EOF\napiVersion: gx.dev/v1alpha1');
  const client = await deployOrders(system);
  const { accepted, executed } = await rotateUnderLoad(system, client);
  const once = accepted.map((round) => [round, ['first', 'second']]);
  expect(Object.fromEntries(accepted.map((round) => [round, executed[round]]))).toEqual(
    Object.fromEntries(once),
  );
});
