import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { until } from '../kit/until.ts';
import { newDeployment } from '../kit/objects.ts';
import type { look } from '../kit/operator.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';

/*
 * The names of what the operator makes follow from the deployment's name. An object that has one of them already may be
 * essential to something else.
 */
let kube: Kube;
let namespace: string;
let see: ReturnType<typeof look>;

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('taken');
  ({ kube, namespace, see } = stage);
});
afterAll(() => stage.stop());

const selector = { matchLabels: { app: 'theirs' } };
const template = {
  metadata: { labels: { app: 'theirs' } },
  spec: { containers: [{ name: 'c', image: 'theirs:1' }] },
};
const ports = [{ name: 'http', port: 80, targetPort: 80 }];
const theirs = (kind: Kind, name: string, spec: object): Promise<KubeObject> =>
  kube.create(kind, {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: { name, namespace },
    spec,
  });
const specOf = async (kind: Kind, name: string): Promise<unknown> =>
  (await kube.get(kind, { namespace, name })).spec;

test.each<[string, Kind, string, object]>([
  ['Service', kinds.service, 'one-agent', { selector: { app: 'theirs' }, ports }],
  ['StatefulSet', kinds.statefulSet, 'two-db', { selector, template, serviceName: 'theirs' }],
  [
    'NetworkPolicy',
    kinds.networkPolicy,
    'three-db',
    { podSelector: selector, policyTypes: ['Ingress'] },
  ],
  // Nothing in these contradicts what the operator asks for. Both could be merged into one.
  ['Service', kinds.service, 'eight-agent', { ports: [{ name: 'mine', port: 5000 }] }],
  ['Service', kinds.service, 'nine-db', { clusterIP: 'None' }],
  ['NetworkPolicy', kinds.networkPolicy, 'ten-db', { podSelector: {}, policyTypes: ['Ingress'] }],
  ['PodDisruptionBudget', kinds.disruptionBudget, 'eleven-db', { maxUnavailable: 0 }],
])(
  "somebody's %s of that name is left as it is, and the deployment says so until it is gone",
  async (what, kind, name, spec) => {
    const deployment = name.split('-')[0] ?? '';
    await theirs(kind, name, spec);
    const before = await specOf(kind, name);
    await kube.create(
      kinds.deployment,
      newDeployment(namespace, {
        metadata: { name: deployment },
        spec: { database: { podDisruptionBudget: true } },
      }),
    );
    await until(
      'it is told',
      async () => (await see.deployment(deployment)).status?.reason === 'Refused',
    );
    const { status } = await see.deployment(deployment);
    expect(status?.message).toContain(
      `${what} ${name} already exists and belongs to somebody else, so it is left alone.`,
    );
    expect(await specOf(kind, name)).toEqual(before);
    await kube.delete(kind, { namespace, name });
    await kube.patchJson(kinds.deployment, { namespace, name: deployment }, [
      {
        op: 'add',
        path: '/metadata/annotations',
        value: { 'gx.dev/reconcile-requested-at': 'now' },
      },
    ]);
    await see.untilReady(deployment);
  },
);

test("somebody's workload of that name is left as it is, and the revision could not be created", async () => {
  await theirs(kinds.workload, 'four-00001-api', { selector, template });
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'four' } }));
  await see.untilPhase('four-00001', 'CREATE_FAILED');
  const { status } = await see.revision('four-00001');
  expect(status).toMatchObject({
    reason: 'Refused',
    message: expect.stringContaining('four-00001-api already exists and belongs to somebody else'),
  });
  expect(await specOf(kinds.workload, 'four-00001-api')).toMatchObject({ selector });
});

test("somebody's Secret that has the name of a revision's copy is not given to its pods", async () => {
  const secret = (name: string, stringData: object) =>
    kube.create(kinds.secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace },
      stringData,
    } as never);
  await secret('mine', { TOKEN: 'mine' });
  await secret('six-00001-env', { TOKEN: 'theirs' });
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name: 'six' }, template: { secretName: 'mine' } }),
  );
  await see.untilPhase('six-00001', 'CREATE_FAILED');
  expect((await see.revision('six-00001')).status?.message).toContain(
    'Secret six-00001-env already exists and belongs to somebody else',
  );
});

test('one of our own whose label somebody took is known again', async () => {
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'five' } }));
  await see.untilReady('five');
  const { metadata } = await see.service('five-agent');
  const path = '/metadata/labels/app.kubernetes.io~1managed-by';
  await kube.patchJson(kinds.service, { namespace, name: 'five-agent' }, [
    { op: 'replace', path, value: 'nobody' },
    { op: 'replace', path: '/spec/selector', value: { app: 'hijacked' } },
  ]);
  await until(
    'it is put right',
    async () =>
      (await see.service('five-agent')).metadata.labels?.['app.kubernetes.io/managed-by'] ===
      'gx-operator',
  );
  const service = await see.service('five-agent');
  expect(service.metadata.uid).toBe(metadata.uid);
  expect(service.spec).toMatchObject({ selector: { 'gx.dev/revision': 'five-00001' } });
});
