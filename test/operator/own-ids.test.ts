import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import {
  DATA_USER,
  DATABASE_OF,
  RENEW_DATABASE,
} from '../../src/schema/platform/objects/labels.ts';
import { newDeployment } from '../kit/objects.ts';
import { policyFor } from '../kit/policy.ts';
import type { RunningOperator } from '../kit/operator.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/*
 * A cluster that gives each namespace ids of its own, as OpenShift does, refuses pods that name others. A policy of a
 * real API server refuses them here.
 */
let stage: Stage;
let free: RunningOperator;
const stored = { template: { resourceSpec: { redisMemoryMb: 64 } } };

beforeAll(async () => {
  stage = await openStage('own-ids');
  stage.startKubelet();
});
afterAll(() => stage.stop());

type Security = {
  runAsUser?: number;
  runAsGroup?: number;
  fsGroup?: number;
  runAsNonRoot?: boolean;
};
type Set = {
  spec: { template: { spec: { securityContext: Security } }; volumeClaimTemplates: KubeObject[] };
};

const setOf = async (name: string): Promise<Set> =>
  (await stage.kube.get(kinds.statefulSet, {
    namespace: stage.namespace,
    name: `${name}-db`,
  })) as unknown as Set;
const securityOf = async (name: string): Promise<Security> =>
  (await setOf(name)).spec.template.spec.securityContext;
const deploy = async (name: string, more: object = {}): Promise<void> => {
  await stage.kube.create(
    kinds.deployment,
    newDeployment(stage.namespace, { ...stored, metadata: { name, ...more } }),
  );
  await stage.see.untilReady(name);
};
const POSTGRES = { runAsUser: 26, runAsGroup: 26, fsGroup: 26, runAsNonRoot: true };

/** Refuses workloads whose pods name a user or a group, as OpenShift does. */
async function refuseIds(resource: string): Promise<void> {
  const of = (context: string): string =>
    ['runAsUser', 'runAsGroup', 'fsGroup'].map((field) => `!has(${context}.${field})`).join(' && ');
  const { namespace, kube } = stage;
  const policy = {
    name: resource,
    namespace,
    apiGroup: 'apps',
    resource,
    operation: 'CREATE',
    message: 'not in the range',
  } as const;
  const labels = { a: 'b' };
  const probe = {
    apiVersion: 'apps/v1',
    kind: resource === 'deployments' ? 'Deployment' : 'StatefulSet',
    metadata: { name: 'probe', namespace },
    spec: {
      selector: { matchLabels: labels },
      serviceName: 'probe',
      template: {
        metadata: { labels },
        spec: { securityContext: { runAsUser: 1 }, containers: [{ name: 'c', image: 'i' }] },
      },
    },
  };
  const kind = resource === 'deployments' ? kinds.workload : kinds.statefulSet;
  await policyFor(kube, { ...policy, rule: of('object.spec.template.spec.securityContext') }, () =>
    kube.create(kind, probe, { dryRun: true }).then(
      () => false,
      () => true,
    ),
  );
}

test('databases that were made with ids keep them, and everything that is made without is accepted', async () => {
  const before = await stage.startOperator({ identity: 'fixed' });
  await deploy('old');
  expect(await securityOf('old')).toMatchObject(POSTGRES);
  await before.stop();

  for (const resource of ['deployments', 'statefulsets']) await refuseIds(resource);
  free = await stage.startOperator({ identity: 'free', settings: { fixedIds: false } });
  await deploy('new');
  const security = await securityOf('new');
  expect([security.runAsUser, security.runAsGroup, security.fsGroup]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(security.runAsNonRoot).toBe(true);
  expect((await setOf('new')).spec.volumeClaimTemplates[0]?.metadata.annotations).toMatchObject({
    [DATA_USER]: 'namespace',
  });

  const { kube, namespace } = stage;
  const renew = [
    {
      op: 'add' as const,
      path: '/metadata/annotations',
      value: { [RENEW_DATABASE]: 'now', 'gx.dev/reconcile-requested-at': 'now' },
    },
  ];
  await kube.patchJson(kinds.deployment, { namespace, name: 'old' }, renew);
  await until(
    'it is renewed',
    async () => (await stage.see.deployment('old')).status?.lastHandledReconcileAt === 'now',
  );
  await stage.see.untilReady('old');
  expect(await securityOf('old')).toMatchObject(POSTGRES);
});

test("data that is kept keeps its user, whatever today's installation gives", async () => {
  const { kube, namespace, see } = stage;
  const { metadata } = await see.deployment('new');
  await kube.delete(kinds.deployment, { namespace, name: 'new' });
  await until(
    'it is gone',
    async () => (await kube.find(kinds.deployment, { namespace, name: 'new' })) === undefined,
  );
  await free.stop();
  await stage.startOperator({ identity: 'fixed again' });
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      ...stored,
      metadata: { name: 'new', annotations: { [DATABASE_OF]: metadata.uid! } },
    }),
  );
  const set = await until('its database is made', () => setOf('new').catch(() => undefined));
  expect(set.spec.template.spec.securityContext.runAsUser).toBeUndefined();
});
