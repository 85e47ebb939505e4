import { afterAll, beforeAll, expect, test } from 'vitest';
import { NotFound } from '../../src/errors.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { renderer } from '../charts/render.ts';
import { kubeconfigOf, untilMay } from '../kit/account.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { auditEvents } from '../kit/audit-log.ts';
import { until } from '../kit/until.ts';
import { fakeKubelet, type FakeKubelet } from '../kit/fake-kubelet.ts';
import { newDeployment } from '../kit/objects.ts';
import { look, operatorFor, type RunningOperator } from '../kit/operator.ts';

/*
 * The operator has the chart's rights for all namespaces. It runs on an API server of its own, because it would also
 * work on the deployments of other tests.
 */
const SYSTEM = 'gx-system';
let server: ApiServer;
let kube: Kube;
let operator: RunningOperator;
let kubelets: FakeKubelet[];

const kindOf = ({ apiVersion, kind, metadata }: KubeObject): Kind => ({
  apiVersion,
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: metadata.namespace !== undefined,
});

beforeAll(async () => {
  server = await startApiServer();
  kube = await connect({
    fieldManager: 'test',
    userAgent: 'test/all',
    kubeconfig: server.kubeconfig,
  });
  for (const name of [SYSTEM, 'ours', 'theirs']) {
    await kube.create(kinds.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  const { chart } = await renderer();
  const objects = (await chart({
    watchAllNamespaces: true,
    agents: { namespaces: ['ours'] },
  })) as unknown as KubeObject[];
  for (const object of objects.filter(({ kind }) => /Role|ServiceAccount/.test(kind)))
    await kube.apply(kindOf(object), object);
  for (const [right, namespace] of [
    ['list revisions.gx.dev'],
    ['get secrets', 'ours'],
    ['get leases.coordination.k8s.io', SYSTEM],
  ] as const)
    await untilMay(kube, `${SYSTEM}:gx-operator`, right, namespace);
  const kubeconfig = await kubeconfigOf(kube, {
    namespace: SYSTEM,
    kubeconfig: server.kubeconfig,
    name: 'gx-operator',
  });
  kubelets = ['ours', 'theirs'].map((namespace) => fakeKubelet(kube, namespace));
  operator = await operatorFor(
    { namespace: SYSTEM, kubeconfig },
    { config: { namespaces: [] }, times: { sweep: 500 } },
  );
  await operator.leading;
}, 1_200_000);
afterAll(async () => {
  await operator.stop();
  for (const kubelet of kubelets) await kubelet.stop();
  await kube.close();
  await server.stop();
});

const binding: Kind = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
};
const name = 'gx-operator-secrets';
const bind = (namespace: string): Promise<object> =>
  kube.create(binding, {
    apiVersion: binding.apiVersion,
    kind: binding.kind,
    metadata: { name, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: 'gx-operator', namespace: SYSTEM }],
  });
const reasonOf = async (namespace: string, deployment: string): Promise<string | undefined> =>
  (await look(kube, namespace).deployment(deployment)).status?.conditions?.find(
    ({ type }) => type === 'Ready',
  )?.reason;

test('a namespace of agents is served without one refusal', async () => {
  await kube.create(kinds.deployment, newDeployment('ours'));
  await look(kube, 'ours').untilReady('chat');
  const refused = auditEvents(server.auditLog, operator.userAgent).filter(
    ({ responseStatus }) => responseStatus?.code === 403,
  );
  expect(refused).toEqual([]);
});

test('in another one the operator says what it lacks, and goes on once the owner of the namespace has said yes', async () => {
  await kube.create(kinds.deployment, newDeployment('theirs', { metadata: { name: 'other' } }));
  await until('it says so', async () => (await reasonOf('theirs', 'other')) === 'Forbidden');
  await bind('theirs');
  await look(kube, 'theirs').untilReady('other');
  expect(await reasonOf('theirs', 'other')).toBe('Serving');
});

test('the right taken back, a deployment can still be deleted, and the Secrets of other namespaces are still swept', async () => {
  await kube.delete(binding, { namespace: 'theirs', name });
  const stray = { name: 'stray', labels: { 'gx.dev/secrets-of': 'nobody' } };
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...stray, namespace: 'ours' },
  });
  const isGone = (found: Promise<object>): Promise<boolean> =>
    found.then(
      () => false,
      (error: unknown) => error instanceof NotFound,
    );
  await until('the stray Secret is swept', () =>
    isGone(kube.get(kinds.secret, { namespace: 'ours', name: 'stray' })),
  );
  await kube.delete(kinds.deployment, { namespace: 'theirs', name: 'other' });
  await until('it is gone', () => isGone(look(kube, 'theirs').deployment('other')));
  const lists = auditEvents(server.auditLog, operator.userAgent).filter(
    ({ objectRef }) => objectRef?.resource === 'secrets',
  );
  expect(lists.filter(({ objectRef }) => objectRef?.namespace === undefined)).toEqual([]);
});
